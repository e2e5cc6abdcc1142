/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read an image into a leaf table, and fold it.
 */

#ifndef BLKSUM_IMAGE_TABLE_H
#define BLKSUM_IMAGE_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "read/scan.h"

struct blkhash_leaves;
struct blkhash_opts;
struct error;
struct progress;
struct source;
struct sum;

struct image_request {
  const struct blkhash_opts *opts; /* options of the table */
  const struct progress *progress; /* counts each byte; or NULL */

  /* Returns true if bytes at OFFSET must be read, and stores in *LEN the number
   * of bytes for which the answer is the same.  Ranges that are not read count
   * as zeros.  If NULL, all are read.  Called by one thread at a time.
   */
  bool (*wanted) (void *opaque, uint64_t offset, uint64_t *len);
  void *opaque;
  struct padding padding;       /* of the table */

  bool (*stopped) (void *opaque); /* returns true if the table is not needed
                                   * any more; called by any thread; or NULL */
  void *stopped_opaque;
};

/* Read the image of SOURCE into the table LEAVES, and fold it.  Stores in SUM
 * the format, the numbers of bytes and reads, and the digest if the table
 * computes one, but not the hash options.  Returns 0; or -1, also if the image changed while
 * it was read, with the reason, unless request->stopped returned true; then
 * SOURCE can only be closed.
 */
int image_table_fill (struct source *source, struct blkhash_leaves *leaves,
                      const struct image_request *request, struct sum *sum,
                      struct error *error);

#endif /* BLKSUM_IMAGE_TABLE_H */
