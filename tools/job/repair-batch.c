/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Some bad blocks that are repaired together.
 *
 * A batch is flushed once, because a flush can take as long as many writes.
 * Nothing is written but a good block in place of one that was just seen to be
 * bad, so that a repair can end at any moment.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/numbers.h"
#include "../lib/manifest/manifest-index.h"
#include "job/repair-batch.h"
#include "job/repair-manifest.h"
#include "source/target.h"
#include "util/error.h"
#include "util/ranges.h"

#define MAX_BYTES (8 * 1024 * 1024) /* of the blocks, unless one has more */
#define MAX_BLOCKS 1024

/* ---- Create and destroy ---- */

void
repair_batch_destroy (struct repair_batch *batch)
{
  free (batch->blocks);
  free (batch->leaves);
  free (batch->expected);
  free (batch->good);
  free (batch->bytes);
  free (batch->spare);
}

int
repair_batch_init (struct repair_batch *batch,
                   const struct repair_manifest *manifest,
                   const struct ranges *ranges, struct error *error)
{
  size_t room = MIN (MAX_BYTES / manifest->block_size, MAX_BLOCKS);

  room = MAX (room, 1);
  *batch = (struct repair_batch) {
    .manifest = manifest, .room = room, .ranges = ranges,
    .blocks = calloc (room, sizeof *batch->blocks),
    .leaves = malloc (room * manifest->leaf_size),
    .expected = calloc (room, sizeof *batch->expected),
    .good = calloc (room, sizeof *batch->good),
    .bytes = calloc (room, manifest->block_size),
    .spare = malloc (manifest->block_size),
  };
  if (batch->blocks && batch->leaves && batch->expected && batch->good &&
      batch->bytes && batch->spare)
    return 0;
  repair_batch_destroy (batch);
  return error_errno (error, ENOMEM, "cannot repair");
}

/* ---- The next blocks ---- */

/* Set what the COUNT blocks after those of BATCH, which are consecutive, must
 * be.
 */
static int
expect (struct repair_batch *batch, size_t count, struct error *error)
{
  const struct repair_manifest *manifest = batch->manifest;
  uint64_t first = batch->blocks[batch->count].offset / manifest->block_size;
  size_t i, end = batch->count + count;
  struct blkhash_manifest_run run;

  for (; batch->count < end; first += run.count) {
    unsigned char *leaves =
      batch->leaves + batch->count * manifest->leaf_size;
    int err = manifest_index_get (manifest->index, first, end - batch->count,
                                  leaves, &run);

    if (err)
      return error_about (error, manifest->path, "%s", err == ESTALE
                          ? "it was modified while it was used"
                          : strerror (err));
    for (i = 0; i < run.count; i++)
      batch->expected[batch->count++] = (struct block_expected) {
        .zero = !run.leaves, .leaf = leaves + i * manifest->leaf_size
      };
  }
  return 0;
}

/* Take blocks of the current range. */
static int
take_range (struct repair_batch *batch, struct error *error)
{
  const struct ranges_item *range = &batch->ranges->items[batch->range];
  uint32_t block_size = batch->manifest->block_size;
  size_t i;

  for (i = batch->count; i < batch->room && batch->done < range->len; i++) {
    size_t len = MIN (block_size, range->len - batch->done);

    batch->blocks[i] = (struct repair_block) {
      .offset = range->start + batch->done, .len = len
    };
    batch->done += len;
  }
  if (batch->done == range->len) {
    batch->range++;
    batch->done = 0;
  }
  return expect (batch, i - batch->count, error);
}

int
repair_batch_next (struct repair_batch *batch, struct error *error)
{
  batch->count = 0;
  while (batch->count < batch->room && batch->range < batch->ranges->count)
    if (take_range (batch, error) == -1)
      return -1;
  return batch->count > 0;
}

/* ---- Content ---- */

uint64_t
repair_batch_size (const struct repair_batch *batch)
{
  uint64_t bytes = 0;
  size_t i;

  for (i = 0; i < batch->count; i++)
    bytes += batch->blocks[i].len;
  return bytes;
}

unsigned char *
repair_batch_bytes (const struct repair_batch *batch, size_t i)
{
  return batch->bytes + i * batch->manifest->block_size;
}

int
repair_batch_check (struct repair_batch *batch, struct error *error)
{
  size_t last = batch->count - 1;
  size_t len = last * batch->manifest->block_size + batch->blocks[last].len;
  int err = block_check (batch->manifest->opts, batch->bytes, len,
                         batch->expected, batch->good);

  return err ? error_errno (error, err, "cannot hash") : 0;
}

static void
remove_good (struct repair_batch *batch)
{
  size_t i, count = 0;

  for (i = 0; i < batch->count; i++) {
    if (batch->good[i])
      continue;
    batch->blocks[count] = batch->blocks[i];
    batch->expected[count] = batch->expected[i];
    batch->good[count++] = false;
  }
  batch->count = count;
}

/* Read block I of TARGET to BUF.  Is it good? */
static int
check_block (const struct repair_batch *batch, size_t i,
             const struct target *target, void *buf, bool *good,
             struct error *error)
{
  const struct repair_block *block = &batch->blocks[i];
  int r = target_read (target, buf, block->len, block->offset, error), err;

  *good = false;
  if (r != 0)
    return r == 1 ? 0 : -1;
  err = block_check (batch->manifest->opts, buf, block->len,
                     &batch->expected[i], good);
  return err ? error_errno (error, err, "cannot hash") : 0;
}

int
repair_batch_read (struct repair_batch *batch, const struct target *target,
                   struct error *error)
{
  size_t i;

  for (i = 0; i < batch->count; i++)
    if (check_block (batch, i, target, batch->spare, &batch->good[i],
                     error) == -1)
      return -1;
  remove_good (batch);
  return 0;
}

/* ---- Writing ---- */

/* While sources were read, another program can have written the target. */
static int
check_again (struct repair_batch *batch, const struct target *target,
             struct error *error)
{
  size_t i;
  bool good;

  for (i = 0; i < batch->count; i++) {
    if (!batch->good[i])
      continue;
    if (check_block (batch, i, target, batch->spare, &good, error) == -1)
      return -1;
    if (good)
      batch->blocks[i].state = BLOCK_GOOD;
  }
  return 0;
}

/* A write that fails can have written a part. */
static int
write_blocks (struct repair_batch *batch, const struct target *target,
              struct error *error)
{
  size_t i;

  for (i = 0; i < batch->count; i++) {
    struct repair_block *block = &batch->blocks[i];

    if (!batch->good[i] || block->state != BLOCK_BAD)
      continue;
    block->state = BLOCK_WRITTEN;
    if (target_write (target, repair_batch_bytes (batch, i), block->len,
                      block->offset, error) == -1)
      return -1;
  }
  return 0;
}

static int
verify_blocks (struct repair_batch *batch, const struct target *target,
               struct error *error)
{
  size_t i;
  bool good;

  for (i = 0; i < batch->count; i++) {
    if (batch->blocks[i].state != BLOCK_WRITTEN)
      continue;
    if (check_block (batch, i, target, batch->spare, &good, error) == -1)
      return -1;
    if (good)
      batch->blocks[i].state = BLOCK_VERIFIED;
  }
  return 0;
}

/* All checks are before the writes: to read a page past the page cache that is
 * not written to the storage yet, the kernel would write it, once for each small
 * block.
 */
int
repair_batch_write (struct repair_batch *batch, const struct target *target,
                    struct error *error)
{
  if (check_again (batch, target, error) == -1 ||
      write_blocks (batch, target, error) == -1 ||
      target_sync (target, error) == -1)
    return -1;
  return verify_blocks (batch, target, error);
}
