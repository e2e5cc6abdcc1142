/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A batch of bad blocks that are repaired together.
 *
 * The target is flushed once per batch, because a flush can take as long as
 * many writes.  Only good blocks are written, each over a block that was just
 * checked to have the same bad content as in the first pass.  So a repair can
 * be interrupted at any time.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash-manifest.h"

#include "../lib/common/numbers.h"
#include "io/read.h"
#include "repair/repair-batch.h"
#include "repair/repair-list.h"
#include "repair/repair-manifest.h"
#include "repair/target.h"
#include "util/error.h"

/* Limits of a batch.  A block larger than MAX_BYTES is a batch alone. */
#define MAX_BYTES (8 * 1024 * 1024)
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
                   const struct target *target,
                   const struct repair_list *list, struct error *error)
{
  size_t room = MIN (MAX_BYTES / manifest->block_size, MAX_BLOCKS);

  room = MAX (room, 1);
  *batch = (struct repair_batch) {
    .manifest = manifest, .target = target, .room = room, .list = list,
    .blocks = calloc (room, sizeof *batch->blocks),
    .leaves = malloc (room * manifest->leaf_size),
    .expected = calloc (room, sizeof *batch->expected),
    .good = calloc (room, sizeof *batch->good),
    .bytes = calloc (room, manifest->block_size),
    .spare = read_alloc (manifest->block_size),
  };
  if (batch->blocks && batch->leaves && batch->expected && batch->good &&
      batch->bytes && batch->spare)
    return 0;
  repair_batch_destroy (batch);
  return error_errno (error, ENOMEM, "cannot repair");
}

/* ---- The next blocks ---- */

/* Store bad block NEXT of the list as block I of BATCH. */
static int
take_block (struct repair_batch *batch, size_t i, size_t next,
            struct error *error)
{
  const struct repair_manifest *manifest = batch->manifest;
  uint64_t offset = batch->list->blocks[next] * manifest->block_size;
  size_t len = MIN (manifest->block_size, manifest->size - offset);
  unsigned char *leaf = batch->leaves + i * manifest->leaf_size;
  uint32_t align = batch->target->file.align;
  struct blkhash_manifest_run run;

  if (repair_manifest_get (manifest, batch->list->blocks[next], 1, leaf, &run,
                           error) == -1)
    return -1;
  batch->blocks[i] = (struct repair_block) {
    .offset = offset, .len = len,
    .found = repair_list_found (batch->list, next),
    .unaligned = offset % align || len % align,
  };
  batch->expected[i] = (struct block_expected) {
    .zero = !run.leaves, .leaf = leaf
  };
  batch->good[i] = !run.leaves;
  memset (repair_batch_bytes (batch, i), 0, len);
  return 0;
}

int
repair_batch_next (struct repair_batch *batch, struct error *error)
{
  for (batch->count = 0;
       batch->count < batch->room && batch->next < batch->list->count;
       batch->count++)
    if (take_block (batch, batch->count, batch->next++, error) == -1)
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

bool
repair_batch_needs (const struct repair_batch *batch, size_t i)
{
  return !batch->good[i] && !batch->blocks[i].unaligned;
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

/* ---- Writing ---- */

/* Check whether the content of the spare buffer, which has the length of block
 * I, is the one that EXPECTED describes: the good content, or the bad content
 * that the first pass found.  Returns 1 if it is, 0 if not, or -1 with the
 * reason in ERROR.
 */
static int
check_spare (const struct repair_batch *batch, size_t i,
             const struct block_expected *expected, struct error *error)
{
  bool same;
  int err = block_check (batch->manifest->opts, batch->spare,
                         batch->blocks[i].len, expected, &same);

  return err ? error_errno (error, err, "cannot hash") : same;
}

/* Check that block I still has the content that it had in the first pass.
 * Another program can have written to the target while other blocks and the
 * sources were read.
 */
static int
check_again (const struct repair_batch *batch, size_t i, struct error *error)
{
  const struct repair_block *block = &batch->blocks[i];
  int r;

  if (direct_file_check_same (&batch->target->file, error) == -1 ||
      direct_file_read (&batch->target->file, batch->spare, block->len,
                        block->offset, error) == -1)
    return -1;
  r = check_spare (batch, i, &block->found, error);
  return r != 0 ? r : error_set (error, "changed meanwhile at offset %llu: "
                                 "another program writes it",
                                 (unsigned long long) block->offset);
}

/* Check that block I still has its bad content, and write good content to it.
 * If the write fails, a part of the block can have been written.  So the block
 * counts as written, unless the bad content is still there.
 */
static int
write_block (struct repair_batch *batch, size_t i, struct error *error)
{
  struct repair_block *block = &batch->blocks[i];
  struct error ignored = { "" };
  int r;

  if (check_again (batch, i, error) == -1)
    return -1;
  memcpy (batch->spare, repair_batch_bytes (batch, i), block->len);
  r = direct_file_write (&batch->target->file, batch->spare, block->len,
                         block->offset, error);
  block->written = r == 0 || check_again (batch, i, &ignored) == -1;
  return r;
}

/* Read block I back, which must not come from the page cache. */
static int
verify_block (struct repair_batch *batch, size_t i, struct error *error)
{
  const struct direct_file *file = &batch->target->file;
  struct repair_block *block = &batch->blocks[i];
  int r;

  if (direct_file_read (file, batch->spare, block->len, block->offset,
                        error) == -1 ||
      direct_file_check_uncached (file, block->len, block->offset,
                                  error) == -1)
    return -1;
  r = check_spare (batch, i, &batch->expected[i], error);
  block->verified = r == 1;
  return r == -1 ? -1 : 0;
}

int
repair_batch_write (struct repair_batch *batch, struct error *error)
{
  bool any = false;
  size_t i;

  for (i = 0; i < batch->count; i++) {
    if (!batch->good[i] || batch->blocks[i].unaligned)
      continue;
    any = true;
    if (write_block (batch, i, error) == -1)
      return -1;
  }
  if (any && direct_file_sync (&batch->target->file, error) == -1)
    return -1;
  for (i = 0; i < batch->count; i++)
    if (batch->blocks[i].written && verify_block (batch, i, error) == -1)
      return -1;
  return 0;
}
