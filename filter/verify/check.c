/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read a range of the disk, and verify each block of it; verify the zeros that
 * no client read.
 *
 * Only whole blocks can be verified.  The whole blocks of a request are read
 * into its buffer and hashed there, many at a time: see batch.c.  A block of
 * which the request has only a part is read into a buffer of its own, and added
 * to the cache if its content was verified.
 *
 * Unless verify_params.zero is ZERO_READ, clients get the zeros of the manifest
 * without a read.  With ZERO_EXTENTS the zeros of the disk are verified after
 * the last client, because no client waits then, and because clients do not
 * even ask for zeros.  A client that only probes the disk, such as nbdinfo,
 * must not cause a read of all zeros, so all data must have been read before.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "../lib/common/util.h"
#include "verify/batch.h"
#include "verify/check.h"
#include "verify/compare.h"
#include "verify/disk.h"
#include "verify/export.h"
#include "verify/params.h"

static int
no_memory (int *err)
{
  nbdkit_error ("blkhash-verify: %m");
  *err = ENOMEM;
  return -1;
}

/* ---- Blocks ---- */

/* Read COUNT blocks, at most MAX_BATCH, into BUF, and verify them.  Blocks that
 * are zero in the manifest are set to zero without a read, except with
 * ZERO_READ. LEAVES has room for the leaves of COUNT blocks.  Returns 0, or -1
 * with *CHECK->err.
 */
static int
read_blocks (struct check *check, uint64_t first, size_t count,
             unsigned char *buf, unsigned char *leaves)
{
  struct disk *disk = check->disk;

  while (count > 0) {
    struct blkhash_manifest_run run;
    struct compare_batch batch;

    if (disk_get_run (disk, first, count, leaves, &run, check->err) == -1)
      return -1;
    batch = (struct compare_batch) { first, run.count, run.leaves, buf };
    if (!run.leaves && verify_params.zero != ZERO_READ) {
      memset (buf, 0, disk_bytes (disk, first, run.count));
      check->unproven = true;
    }
    else if (batch_read (check, &batch) == -1)
      return -1;
    first += run.count;
    count -= run.count;
    buf += run.count * disk->block_size;
  }
  return 0;
}

/* ---- Requests ---- */

/* Copy LEN bytes at offset SKIP of BLOCK into BUF, from the cache, or after
 * reading the whole block.
 */
static int
read_part (struct check *check, uint64_t block, void *buf, size_t len,
           size_t skip)
{
  struct disk *disk = check->disk;
  size_t size = disk_bytes (disk, block, 1);
  unsigned char leaf[BLKHASH_MAX_MD_SIZE], *bytes;
  struct block_load load;
  int r;

  if (block_cache_begin (&disk->cache, block, buf, len, skip, &load))
    return 0;
  bytes = malloc (size);
  check->unproven = false;
  r = bytes ? read_blocks (check, block, 1, bytes, leaf)
            : no_memory (check->err);
  if (r == 0)
    memcpy (buf, bytes + skip, len);
  block_cache_end (&disk->cache, &load,
                   r == 0 && !check->unproven ? bytes : NULL, size);
  free (bytes);
  return r;
}

/* Read COUNT whole blocks, beginning with FIRST, into BUF. */
static int
read_whole (struct check *check, uint64_t first, uint64_t count,
            unsigned char *buf)
{
  struct disk *disk = check->disk;
  size_t room = MIN (count, MAX_BATCH);
  unsigned char *leaves = malloc (room * disk->leaf_size);
  int r = leaves ? 0 : no_memory (check->err);

  while (r == 0 && count > 0) {
    size_t n = MIN (count, room);

    r = read_blocks (check, first, n, buf, leaves);
    first += n;
    count -= n;
    buf += n * disk->block_size;
  }
  free (leaves);
  return r;
}

/* Read the beginning of the range from OFFSET to END: either a part of one
 * block, or all whole blocks of the range.  Set *LEN to the length of what was
 * read.
 */
static int
read_next (struct check *check, unsigned char *buf, uint64_t offset,
           uint64_t end, size_t *len)
{
  struct disk *disk = check->disk;
  uint64_t block = offset / disk->block_size;
  size_t skip = offset % disk->block_size;
  uint64_t blocks = end / disk->block_size;

  if (end == disk->size)
    blocks = disk->blocks;      /* the last one is whole, even if short */
  if (skip == 0 && block < blocks) {
    *len = disk_bytes (disk, block, blocks - block);
    return read_whole (check, block, blocks - block, buf);
  }
  *len = MIN (disk_bytes (disk, block, 1) - skip, end - offset);
  return read_part (check, block, buf, *len, skip);
}

int
check_read (struct disk *disk, const struct source *source, nbdkit_next *next,
            void *buf, uint32_t count, uint64_t offset, int *err)
{
  struct check check = {
    .disk = disk, .source = source, .next = next, .err = err
  };
  uint64_t end = offset + count;
  unsigned char *at = buf;

  if (disk_is_stopped (disk)) {
    *err = EIO;
    return -1;
  }
  while (offset < end) {
    size_t len;

    if (read_next (&check, at, offset, end, &len) == -1)
      return -1;
    at += len;
    offset += len;
  }
  return 0;
}

/* ---- Zeros ---- */

#define EXTENTS_SIZE (1u << 30) /* bytes to query at once */
#define ZEROS_SIZE (4u << 20)   /* bytes to read at once, unless a block is
                                 * larger */

/* Set good the blocks within the LEN bytes at OFFSET, which the plugin says are
 * zero.
 */
static void
set_zeros (struct disk *disk, uint64_t offset, uint64_t len)
{
  uint64_t first = DIV_ROUND_UP (offset, disk->block_size);
  uint64_t end = offset + len == disk->size
    ? disk->blocks : (offset + len) / disk->block_size;

  /* Without memory the blocks remain not read. */
  if (first < end)
    tally_set_zeros (&disk->tally, first, end - first);
}

/* Set good the blocks that are zero in EXTENTS, up to END.  Returns the end of
 * the extents, at most END.
 */
static uint64_t
use_extents (struct disk *disk, const struct nbdkit_extents *extents,
             uint64_t end)
{
  size_t count = nbdkit_extents_count (extents), i;
  uint64_t zero = 0, zero_end = 0, at = 0; /* adjacent extents of zeros are
                                            * joined: from ZERO to ZERO_END */

  for (i = 0; i < count && at < end; i++) {
    struct nbdkit_extent extent = nbdkit_get_extent (extents, i);

    at = MIN (extent.offset + extent.length, end);
    if (!(extent.type & NBDKIT_EXTENT_ZERO))
      continue;
    if (extent.offset != zero_end) {
      set_zeros (disk, zero, zero_end - zero);
      zero = extent.offset;
    }
    zero_end = at;
  }
  set_zeros (disk, zero, zero_end - zero);
  return at;
}

/* Query the extents of COUNT blocks, as far as the plugin has them. */
static void
query_zeros (struct export *export, nbdkit_next *next, uint64_t first,
             uint64_t count)
{
  struct disk *disk = export->disk;
  uint64_t at = first * disk->block_size;
  uint64_t end = at + disk_bytes (disk, first, count);

  while (at < end && !export_must_end_pass (export)) {
    uint64_t stop = MIN (end, at + EXTENTS_SIZE), before = at;
    struct nbdkit_extents *extents = nbdkit_extents_new (at, stop);
    int err;

    if (extents && next->extents (next, stop - at, at, 0, extents, &err) == 0)
      at = use_extents (disk, extents, stop);
    if (extents)
      nbdkit_extents_free (extents);
    if (at <= before)
      return;
  }
}

/* Read the first of COUNT blocks, as many as fit into BUF.  Returns how many
 * were read, or 0 if they cannot be.
 */
static uint64_t
read_zeros (struct check *check, uint64_t first, uint64_t count,
            unsigned char *buf)
{
  struct disk *disk = check->disk;
  uint64_t most = MAX (ZEROS_SIZE / disk->block_size, 1), run;
  struct compare_batch batch = {
    .first = first, .count = MIN (MIN (count, most), MAX_BATCH), .buf = buf
  };
  enum block_state state;

  if (batch_read (check, &batch) == 0)
    return batch.count;
  /* It failed.  If each block has a state, go on after them. */
  for (; first < batch.first + batch.count; first += run) {
    run = tally_get_run (&disk->tally, first, &state);
    if (state == BLOCK_MISSING)
      return 0;
  }
  return disk_is_stopped (disk) ? 0 : batch.count;
}

/* The manifest has COUNT blocks of zeros from FIRST on.  Returns false if they
 * cannot be read, or the pass must end.
 */
static bool
verify_zeros (struct check *check, struct export *export, uint64_t first,
              uint64_t count, bool has_extents, unsigned char *buf)
{
  struct disk *disk = check->disk;
  uint64_t end = first + count, run;
  enum block_state state;

  if (has_extents)
    query_zeros (export, check->next, first, count);
  for (; first < end; first += run) {
    if (export_must_end_pass (export))
      return false;
    run = MIN (tally_get_run (&disk->tally, first, &state), end - first);
    if (state == BLOCK_MISSING &&
        (run = read_zeros (check, first, run, buf)) == 0)
      return false;
  }
  return true;
}

/* Set *RUN to the next blocks that are all data or all zeros in the manifest,
 * from FIRST on.  Returns false at the end of the disk, or after nbdkit_error.
 */
static bool
next_run (struct disk *disk, uint64_t first, struct blkhash_manifest_run *run)
{
  int err;

  return first < disk->blocks &&
    disk_get_run (disk, first, disk->blocks - first, NULL, run, &err) == 0;
}

static bool
all_data_was_read (struct disk *disk)
{
  uint64_t block, end, count;
  struct blkhash_manifest_run run;

  for (block = 0; next_run (disk, block, &run); block = end) {
    end = block + run.count;
    for (; run.leaves && block < end; block += count) {
      enum block_state state;

      count = tally_get_run (&disk->tally, block, &state);
      if (state == BLOCK_MISSING)
        return false;
    }
  }
  return block == disk->blocks;
}

/* The pass has begun. */
static void
check_all_zeros (struct export *export, const struct source *source,
                 nbdkit_next *next)
{
  struct disk *disk = export->disk;
  struct blkhash_manifest_run run;
  int err = EIO;
  struct check check = {
    .disk = disk, .source = source, .next = next, .err = &err
  };
  bool has_extents;
  unsigned char *buf;
  uint64_t block;

  if (disk_is_stopped (disk) || !all_data_was_read (disk))
    return;
  buf = malloc (MAX (ZEROS_SIZE, disk->block_size));
  if (!buf) {
    no_memory (&err);
    return;
  }
  has_extents = next->can_extents (next) == 1;
  for (block = 0; next_run (disk, block, &run); block += run.count)
    if (!run.leaves &&
        !verify_zeros (&check, export, block, run.count, has_extents, buf))
      break;
  free (buf);
}

void
check_zeros (struct export *export, const struct source *source,
             nbdkit_next *next)
{
  if (!export_begin_pass (export))
    return;
  check_all_zeros (export, source, next);
  export_end_pass (export);
}
