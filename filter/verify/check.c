/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read a range of the disk, and verify each block of it.
 *
 * Only whole blocks can be verified.  The whole blocks of a request are read
 * into its buffer and hashed there, many at a time.  A block of which the
 * request has only a part is read into a buffer of its own, and added to the
 * cache.  A block that is wrong or could not be read is read again: alone, or
 * together with others once the request has failed.  Then it is read from the
 * repair sources, which are no more trusted than the plugin.
 *
 * A request fails as a whole.  If it fails because of a wrong block, the other
 * blocks of the same read are still verified, so that all wrong blocks among
 * them are reported.  If it fails because of an unreadable block, nothing more
 * is read, because each block of a disk that does not answer would cost a
 * timeout.  Clients can read the other blocks with smaller requests.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "../lib/common/numbers.h"
#include "verify/check.h"
#include "verify/compare.h"
#include "verify/disk.h"
#include "verify/finding.h"
#include "verify/params.h"
#include "verify/repair.h"
#include "verify/source.h"
#include "verify/write-back.h"

#define MAX_BATCH 1024          /* blocks that are read at a time */

/* The check of a request. */
struct check {
  struct disk *disk;
  const struct source *source;
  nbdkit_next *next;
  int *err;                     /* set if it fails */
  bool unproven;                /* content was not read, or is served although
                                 * it is wrong */
  struct repair_deadlines deadlines;
};

static int
no_memory (int *err)
{
  nbdkit_error ("blkhash-verify: %m");
  *err = ENOMEM;
  return -1;
}

/* ---- Reading ---- */

/* Read BATCH and set which blocks are GOOD.  Returns 0; 1 with *ERR if the
 * blocks cannot be read; or -1 with *ERR if they cannot be hashed.
 */
static int
read_and_compare (const struct check *check, const struct compare_batch *batch,
                  bool *good)
{
  struct disk *disk = check->disk;
  int err;

  if (source_read (check->source, check->next, batch->buf,
                   disk_bytes (disk, batch->first, batch->count),
                   batch->first * disk->block_size, check->err) == -1)
    return 1;
  err = compare (disk, batch, good);
  if (err == 0)
    return 0;
  nbdkit_error ("blkhash-verify: cannot hash: %s", strerror (err));
  *check->err = err;
  return -1;
}

/* Retry BLOCK, which is bad or, if UNREADABLE is set, could not be read.
 * Returns 0 with *STATE, or -1 if it cannot be hashed.
 */
static int
retry_block (const struct check *check, const struct compare_batch *block,
             bool unreadable, enum block_state *state)
{
  unsigned tries = verify_params.retry;
  bool good = false;

  *state = unreadable ? BLOCK_UNREADABLE : BLOCK_BAD;
  for (; tries > 0 && !good; tries--) {
    int r;

    if (tries == 1 && verify_params.repair_write)
      write_back_wait (block->first);
    r = read_and_compare (check, block, &good);
    if (r == -1)
      return -1;
    *state = r == 1 ? BLOCK_UNREADABLE : good ? BLOCK_GOOD : BLOCK_BAD;
    good = *state == BLOCK_GOOD;
  }
  if (good)
    tally_add_transient (&check->disk->tally);
  return 0;
}

/* BLOCK is bad or unreadable, as STATE says.  Replace its content by that of a
 * repair source, and write it to the plugin, if parameters want that.  Returns
 * its new state.
 */
static enum block_state
repair_block (struct check *check, const struct compare_batch *block,
              enum block_state state)
{
  if (!repair_read (check->disk, block, &check->deadlines))
    return state;
  if (verify_params.repair_write &&
      write_back (check->disk, check->source, check->next, block))
    return BLOCK_GOOD;
  return BLOCK_IN_FLIGHT;
}

/* ---- Failing ---- */

/* Apply the effect of a block in STATE on the request and the disk.  Returns
 * true if the request fails.
 */
static bool
apply_state (struct check *check, enum block_state state)
{
  if (state == BLOCK_GOOD || state == BLOCK_IN_FLIGHT)
    return false;
  if (state == BLOCK_BAD && verify_params.fail == FAIL_WARN) {
    check->unproven = true;
    return false;
  }
  if (state == BLOCK_BAD)
    *check->err = EIO;
  if (verify_params.fail == FAIL_STOP)
    disk_stop (check->disk);
  return true;
}

/* ---- Batches ---- */

/* The request has already failed because of another block.  Retry the blocks of
 * BATCH that are not GOOD, as often as a single block, each time with one read
 * from the first of them to the last.  Set GOOD for those that are right now.
 * Returns the same as read_and_compare.
 */
static int
retry_rest (const struct check *check,
            const struct compare_batch *batch, bool *good)
{
  size_t start = 0, end = batch->count, i;
  bool now_good[MAX_BATCH];
  unsigned tries;

  for (tries = verify_params.retry; tries > 0; tries--) {
    struct compare_batch rest;
    int r;

    while (start < end && good[start])
      start++;
    while (start < end && good[end - 1])
      end--;
    if (start == end)
      break;
    rest = compare_part (check->disk, batch, start, end - start);
    r = read_and_compare (check, &rest, now_good);
    if (r != 0)
      return r;
    for (i = start; i < end; i++)
      if (!good[i] && now_good[i - start]) {
        good[i] = true;
        tally_add_transient (&check->disk->tally);
      }
  }
  return 0;
}

/* Handle R and GOOD, the result of read_and_compare for BATCH.  R is 1 only if
 * BATCH is a single block.  Repair blocks, set their states, and add those that
 * became bad or unreadable to FINDING.  Returns -1 if the request fails.
 */
static int
handle_result (struct check *check, const struct compare_batch *batch, int r,
               bool *good, struct finding *finding)
{
  uint64_t proven = 0;
  bool failed = false;
  size_t i;

  for (i = 0; i < batch->count; i++) {
    struct compare_batch block = compare_part (check->disk, batch, i, 1);
    enum block_state state = BLOCK_GOOD, old;
    bool is_proven = good[i] && batch->leaves;

    if (!good[i] && failed)
      state = BLOCK_BAD;
    else if (!good[i] && retry_block (check, &block, r == 1, &state) == -1)
      return -1;
    if (state != BLOCK_GOOD)
      state = repair_block (check, &block, state);
    old = tally_set (&check->disk->tally, block.first, state);
    proven += is_proven && old == BLOCK_NOT_READ;
    if (state != BLOCK_GOOD && state != old)
      finding_add (finding, check->disk, block.first, state, *check->err);
    if (failed || !apply_state (check, state))
      continue;
    if (state == BLOCK_UNREADABLE)
      return -1;                /* the next ones could time out as well */
    failed = true;
    block = compare_part (check->disk, batch, i + 1, batch->count - i - 1);
    if (retry_rest (check, &block, good + i + 1) != 0)
      break;
  }
  tally_add_proven (&check->disk->tally, proven);
  if (failed)
    *check->err = EIO;
  return failed ? -1 : 0;
}

/* Read BATCH.  If a range cannot be read, its first half is read, and so on
 * down to a single block.  If the first half can be read, the second half has
 * the unreadable block, so it is not read as a whole, but halved.  An
 * unreadable block is found with about log2 (count) reads, each of which may
 * end with a timeout.
 */
static int
read_batch (struct check *check, const struct compare_batch *batch)
{
  struct finding finding = { .count = 0 };
  size_t at = 0, fail_end = 0;  /* a block from AT to FAIL_END is
                                 * unreadable */
  int result = 0;

  while (result == 0 && at < batch->count) {
    size_t n = at < fail_end ? (fail_end - at + 1) / 2 : batch->count - at;
    struct compare_batch part = compare_part (check->disk, batch, at, n);
    bool good[MAX_BATCH] = { false };
    int r = read_and_compare (check, &part, good);

    if (r == 1 && n > 1) {
      fail_end = at + n;
      continue;
    }
    result = r == -1 ? -1 : handle_result (check, &part, r, good, &finding);
    at += n;
  }
  finding_log (&finding, check->disk);
  return result;
}

/* Read COUNT blocks, at most MAX_BATCH, of data or zeros, into BUF.  LEAVES has
 * room for their leaves.
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
    else if (read_batch (check, &batch) == -1)
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

/* Read the beginning of the range from OFFSET to END: either bytes of one block
 * that is not read as a whole, or all whole blocks.  Set *LEN to the length.
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
