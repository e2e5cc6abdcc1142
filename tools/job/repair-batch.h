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
struct ranges;
struct repair_manifest;
struct target;

enum repair_block_state {
  BLOCK_BAD,                    /* on the target */
  BLOCK_GOOD,                   /* by now, although it was not written */
  BLOCK_WRITTEN,                /* or a part of it */
  BLOCK_VERIFIED,               /* it was written, and is good */
};

struct repair_block {
  uint64_t offset;              /* bytes */
  size_t len;                   /* only the last of the image can be shorter */
  enum repair_block_state state;
};

struct repair_batch {
  const struct repair_manifest *manifest;
  size_t room, count;           /* blocks */

  /* For each block, in the order of the image. */
  struct repair_block *blocks;
  unsigned char *leaves;
  struct block_expected *expected;
  bool *good;                   /* its bytes are what is expected */
  unsigned char *bytes;         /* content, at a multiple of the block size */

  unsigned char *spare;         /* for one block */

  /* The place in the list. */
  const struct ranges *ranges;
  size_t range;
  uint64_t done;                /* bytes of this range */
};

/* Begin with the first blocks of RANGES, which must exist until the end.  0, or
 * -1 with the reason; then BATCH need not be destroyed.
 */
int repair_batch_init (struct repair_batch *batch,
                       const struct repair_manifest *manifest,
                       const struct ranges *ranges, struct error *error);
void repair_batch_destroy (struct repair_batch *batch);

/* Take the next blocks.  1; 0 if there are none; or -1 with the reason. */
int repair_batch_next (struct repair_batch *batch, struct error *error);

/* Returns how many bytes all its blocks have. */
uint64_t repair_batch_size (const struct repair_batch *batch);

/* Returns the content of block I. */
unsigned char *repair_batch_bytes (const struct repair_batch *batch, size_t i);

/* Set which blocks are good, by their content.  0, or -1 with the reason. */
int repair_batch_check (struct repair_batch *batch, struct error *error);

/* Read all blocks of TARGET, and remove those that are good there.  A block that
 * cannot be read is bad.  0, or -1 with the reason.
 */
int repair_batch_read (struct repair_batch *batch, const struct target *target,
                       struct error *error);

/* Write the blocks that are good in BATCH to TARGET, unless they are good there
 * by now, and verify them.  Those that remain BLOCK_WRITTEN are still bad.  0, or
 * -1 with the reason; then they may be good.
 */
int repair_batch_write (struct repair_batch *batch,
                        const struct target *target, struct error *error);

#endif /* BLKSUM_REPAIR_BATCH_H */
