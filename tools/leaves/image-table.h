/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image into a leaf table: what is to be read of it, and what was.
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
  struct progress *progress;    /* is told of each byte; or NULL */

  /* Is what is at OFFSET to be read?  Stores in *LEN how far this is the same,
   * bytes.  The rest counts as zero.  NULL: all is.  One thread at a time.
   */
  bool (*wanted) (void *opaque, uint64_t offset, uint64_t *len);
  /* How large the table of an image of SIZE bytes is, with zeros up to there;
   * NULL: as large.
   */
  uint64_t (*table_size) (void *opaque, uint64_t size);
  void *opaque;                 /* of both */

  bool (*stopped) (void *opaque); /* does nobody want it any more?  Or NULL;
                                 * any thread */
  void *stopped_opaque;
};

/* Fill LEAVES, a table of the image of SOURCE, and fold it.  SUM says how much
 * was read, and the sum if the table computes one, but not how it is made.  0,
 * or -1 with the reason, also if the image changed meanwhile: then SOURCE can
 * only be closed.
 */
int image_table_fill (struct source *source, struct blkhash_leaves *leaves,
                      const struct image_request *request, struct sum *sum,
                      struct error *error);

#endif /* BLKSUM_IMAGE_TABLE_H */
