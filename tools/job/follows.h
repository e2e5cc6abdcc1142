/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What follows an image on its disk, with --size.
 */

#ifndef BLKSUM_JOB_FOLLOWS_H
#define BLKSUM_JOB_FOLLOWS_H

struct error;
struct follows;
struct progress_form;
struct source;

/* Look at what follows the image of SOURCE, which was hashed.  0, or -1 with
 * the reason: it could not be read, and SOURCE can only be closed.
 */
int follows_find (const struct progress_form *form, struct source *source,
                  struct follows *follows, struct error *error);

#endif /* BLKSUM_JOB_FOLLOWS_H */
