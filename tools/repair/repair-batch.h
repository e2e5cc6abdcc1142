/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A batch of bad blocks that are repaired together: for each block, the content
 * that the manifest expects, and a buffer for good content.  The first pass,
 * which found them, is in repair-list.h.
 */

#ifndef BLKSUM_REPAIR_BATCH_H
#define BLKSUM_REPAIR_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "repair/block-check.h"

struct error;
struct repair_list;
struct repair_manifest;
struct target;

struct repair_block {
  uint64_t offset;              /* bytes */
  size_t len;                   /* the last block of the image can be shorter */
  struct block_expected found;  /* its bad content in the first pass */
  bool unaligned;               /* OFFSET or LEN is not a multiple of the
                                 * alignment of the target */
  bool written, verified;       /* WRITTEN: completely or partially */
};

struct repair_batch {
  const struct repair_manifest *manifest;
  const struct target *target;
  size_t room, count;           /* blocks */

  /* For each block, in the order of the image. */
  struct repair_block *blocks;
  unsigned char *leaves;        /* EXPECTED points to them */
  struct block_expected *expected;
  bool *good;                   /* the content in BYTES is as expected */
  unsigned char *bytes;         /* content; block I is at I * block size */

  unsigned char *spare;         /* aligned buffer for one block */

  /* The position in the list. */
  const struct repair_list *list;
  size_t next;
};

/* Initialize BATCH to repair the blocks of LIST, the bad blocks of TARGET,
 * starting with the first one.  MANIFEST, TARGET and LIST must outlive BATCH.
 * Returns 0, or -1 with the reason in ERROR; in the latter case BATCH must not
 * be destroyed.
 */
int repair_batch_init (struct repair_batch *batch,
                       const struct repair_manifest *manifest,
                       const struct target *target,
                       const struct repair_list *list, struct error *error);
void repair_batch_destroy (struct repair_batch *batch);

/* Replace the blocks in BATCH with the next blocks of the list.  Blocks that
 * must be zero are good at once, because their buffers are zeroed.  Returns 1;
 * 0 if there are no more blocks; or -1 with the reason in ERROR.
 */
int repair_batch_next (struct repair_batch *batch, struct error *error);

/* Returns the total size in bytes of the blocks in BATCH. */
uint64_t repair_batch_size (const struct repair_batch *batch);

/* Returns the buffer for the content of block I of BATCH. */
unsigned char *repair_batch_bytes (const struct repair_batch *batch, size_t i);

/* Returns true if block I must be read from a source: it is not good yet, and
 * the target can write it.
 */
bool repair_batch_needs (const struct repair_batch *batch, size_t i);

/* Compare the buffers of all blocks with what the manifest expects, and set
 * batch->good.  Returns 0, or -1 with the reason in ERROR.
 */
int repair_batch_check (struct repair_batch *batch, struct error *error);

/* Write the good blocks of BATCH to the target, flush it, and verify the
 * written blocks.  After success, the blocks that are not VERIFIED are still
 * bad.  Returns 0, or -1 with the reason in ERROR; in the latter case WRITTEN
 * blocks that are not VERIFIED can be good or bad.
 */
int repair_batch_write (struct repair_batch *batch, struct error *error);

#endif /* BLKSUM_REPAIR_BATCH_H */
