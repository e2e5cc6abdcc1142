/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Some bad blocks that are repaired together: what they must be, and content
 * for them.
 */

#ifndef BLKSUM_REPAIR_BATCH_H
#define BLKSUM_REPAIR_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leaves/block-check.h"

struct error;
struct repair_list;
struct repair_manifest;
struct target;

struct repair_block {
  uint64_t offset;              /* bytes */
  size_t len;                   /* only the last of the image can be shorter */
  struct block_expected found;  /* on the target, in the first pass */
  bool unaligned;               /* direct I/O cannot write it */
  bool written, verified;       /* WRITTEN: all of it, or a part */
};

struct repair_batch {
  const struct repair_manifest *manifest;
  const struct target *target;
  size_t room, count;           /* blocks */

  /* For each block, in the order of the image. */
  struct repair_block *blocks;
  unsigned char *leaves;
  struct block_expected *expected;
  bool *good;                   /* its bytes are what is expected */
  unsigned char *bytes;         /* content, at a multiple of the block size */

  unsigned char *spare;         /* for one block, aligned */

  /* The place in the list. */
  const struct repair_list *list;
  size_t next;
};

/* Begin with the first blocks of LIST, which is of TARGET.  Both must exist until
 * the end.  0, or -1 with the reason; then BATCH need not be destroyed.
 */
int repair_batch_init (struct repair_batch *batch,
                       const struct repair_manifest *manifest,
                       const struct target *target,
                       const struct repair_list *list, struct error *error);
void repair_batch_destroy (struct repair_batch *batch);

/* Take the next blocks.  1; 0 if there are none; or -1 with the reason.  What must
 * be zero is good then.
 */
int repair_batch_next (struct repair_batch *batch, struct error *error);

/* Returns how many bytes all its blocks have. */
uint64_t repair_batch_size (const struct repair_batch *batch);

/* Returns the content of block I. */
unsigned char *repair_batch_bytes (const struct repair_batch *batch, size_t i);

/* Does block I need content of a source? */
bool repair_batch_needs (const struct repair_batch *batch, size_t i);

/* Set which blocks are good, by their content.  0, or -1 with the reason. */
int repair_batch_check (struct repair_batch *batch, struct error *error);

/* Write the blocks that are good in BATCH to the target, and verify them.  Those
 * that are not VERIFIED then are still bad.  0, or -1 with the reason; then they
 * may be good.
 */
int repair_batch_write (struct repair_batch *batch, struct error *error);

#endif /* BLKSUM_REPAIR_BATCH_H */
