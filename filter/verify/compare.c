/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Compare the content of blocks with the manifest.
 *
 * Blocks are hashed in groups, so that the library can hash several at once.
 */

#include <config.h>

#include <stdbool.h>
#include <string.h>

#include "../lib/common/util.h"
#include "../lib/common/zero.h"
#include "../lib/construction/leaf.h"
#include "verify/compare.h"
#include "verify/disk.h"

#define MAX_GROUP (2 * LEAF_GROUP) /* blocks that are hashed at a time */

struct compare_batch
compare_part (const struct disk *disk, const struct compare_batch *batch,
              size_t number, size_t count)
{
  return (struct compare_batch) {
    .first = batch->first + number, .count = count,
    .leaves = batch->leaves ? batch->leaves + number * disk->leaf_size : NULL,
    .buf = batch->buf + number * disk->block_size,
  };
}

static bool
has_leaf (struct disk *disk, const struct leaf_block *block,
          const unsigned char *leaf)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  if (!block->zero)
    return memcmp (block->md, leaf, disk->leaf_size) == 0;
  /* The block is zero, so leaf_batch did not hash it, but it is data in the
   * manifest.  With a digest that is not cryptographic, zeros can have the leaf
   * of that data.
   */
  return leaf_hash_zeros (disk->engine, block->len, md) == 0 &&
    memcmp (md, leaf, disk->leaf_size) == 0;
}

/* Compare at most MAX_GROUP blocks of data. */
static int
compare_group (struct disk *disk, const struct compare_batch *batch,
               bool *good)
{
  unsigned char md[MAX_GROUP][BLKHASH_MAX_MD_SIZE];
  struct leaf_block blocks[MAX_GROUP];
  size_t i;
  int err;

  for (i = 0; i < batch->count; i++)
    blocks[i] = (struct leaf_block) {
      .data = batch->buf + i * disk->block_size,
      .len = disk_bytes (disk, batch->first + i, 1),
      .md = md[i],
    };
  err = leaf_batch (disk->engine, blocks, batch->count);
  for (i = 0; err == 0 && i < batch->count; i++)
    good[i] = has_leaf (disk, &blocks[i],
                        batch->leaves + i * disk->leaf_size);
  return err;
}

static void
compare_zeros (const struct disk *disk, const struct compare_batch *batch,
               bool *good)
{
  size_t i;

  for (i = 0; i < batch->count; i++)
    good[i] = is_zero (batch->buf + i * disk->block_size,
                       disk_bytes (disk, batch->first + i, 1));
}

int
compare (struct disk *disk, const struct compare_batch *batch, bool *good)
{
  int err = 0;
  size_t i;

  if (!batch->leaves) {
    compare_zeros (disk, batch, good);
    return 0;
  }
  for (i = 0; err == 0 && i < batch->count; i += MAX_GROUP) {
    struct compare_batch group =
      compare_part (disk, batch, i, MIN (batch->count - i, MAX_GROUP));

    err = compare_group (disk, &group, good + i);
  }
  return err;
}
