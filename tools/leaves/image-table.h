/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read an image into a leaf table, and fold it.
 */

#ifndef BLKSUM_IMAGE_TABLE_H
#define BLKSUM_IMAGE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

struct blkhash_leaves;
struct blkhash_opts;
struct error;
struct progress;
struct source;
struct sum;

struct image_request {
  const struct blkhash_opts *opts; /* of the table */
  const struct progress *progress; /* counts each byte; or NULL */

  /* Is the range at OFFSET to be read?  Stores in *LEN the number of bytes to
   * which the answer applies.  Ranges that are not read count as zeros.  NULL:
   * all are read.  Called by one thread at a time.
   */
  bool (*wanted) (void *opaque, uint64_t offset, uint64_t *len);
  /* The size of the table of an image of SIZE bytes, which is filled with zeros
   * up to there.  NULL: the same size.
   */
  uint64_t (*table_size) (void *opaque, uint64_t size);
  void *opaque;                 /* of both */

  bool (*stopped) (void *opaque); /* true if the table is not needed any more;
                                   * NULL: never.  Any thread */
  void *stopped_opaque;
};

/* Read the image of SOURCE into its table LEAVES, and fold it.  Stores in SUM
 * how much was read, and the digest if the table computes one, but not the hash
 * options.  Returns 0, or -1 with the reason, also if the image changed
 * meanwhile; then SOURCE can only be closed.
 */
int image_table_fill (struct source *source, struct blkhash_leaves *leaves,
                      const struct image_request *request, struct sum *sum,
                      struct error *error);

#endif /* BLKSUM_IMAGE_TABLE_H */
