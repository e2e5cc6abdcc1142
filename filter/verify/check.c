/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read a range of the disk, and verify each block of it.
 *
 * Only whole blocks can be verified.  The whole blocks of a request are read
 * into its buffer and hashed there, many at a time: see batch.c.  A block of
 * which the request has only a part is read into a buffer of its own, and added
 * to the cache if its content was verified.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "../lib/common/numbers.h"
#include "verify/batch.h"
#include "verify/check.h"
#include "verify/compare.h"
#include "verify/disk.h"
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
 * are zero in the manifest are set to zero without a read, unless
 * verify_params.read_zeros is set.  LEAVES has room for the leaves of COUNT
 * blocks.  Returns 0, or -1 with *CHECK->err.
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
    if (!run.leaves && !verify_params.read_zeros) {
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
