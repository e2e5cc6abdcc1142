/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What follows an image on its disk, with --size.
 */

#ifndef BLKSUM_JOB_FOLLOWS_H
#define BLKSUM_JOB_FOLLOWS_H

struct source;

/* Look at what follows the image of SOURCE, which was hashed, and print a line:
 * is it zero, or where not?  Nothing is printed if nothing follows.  Errors are
 * reported.  0, or -1: it could not be read, and SOURCE can only be closed.
 */
int follows_print (struct source *source, const char *name);

#endif /* BLKSUM_JOB_FOLLOWS_H */
