/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read an image into a leaf table (struct blkhash_leaves), and fold the table:
 * see blkhash_leaves_fold.
 */

#ifndef BLKSUM_IMAGE_TABLE_H
#define BLKSUM_IMAGE_TABLE_H

struct blkhash_leaves;
struct error;
struct scan_request;
struct source;
struct sum;

/* Read the image of SOURCE into the table LEAVES, and fold it.  Stores in SUM
 * the format, the numbers of bytes, and the digest if the table
 * computes one, but not the hash options.  Returns 0; or -1 with the reason,
 * for example that the image changed while it was read.  There is no reason if
 * request->stopped returned true.  After -1 SOURCE can only be closed.
 */
int image_table_fill (struct source *source, struct blkhash_leaves *leaves,
                      const struct scan_request *request, struct sum *sum,
                      struct error *error);

#endif /* BLKSUM_IMAGE_TABLE_H */
