/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Trailing data after an image on its disk, with --size.
 */

#ifndef BLKSUM_JOB_TRAILING_DATA_H
#define BLKSUM_JOB_TRAILING_DATA_H

struct error;
struct progress;
struct source;
struct trailing_data;

/* Search for data after the image of SOURCE.  The image must have been read.
 * Returns 0, or -1 with the reason if the disk cannot be read, or was modified;
 * then SOURCE can only be closed.
 */
int trailing_data_find (const struct progress *progress, struct source *source,
                        struct trailing_data *trailing, struct error *error);

#endif /* BLKSUM_JOB_TRAILING_DATA_H */
