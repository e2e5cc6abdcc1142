/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read and verify consecutive blocks.
 *
 * A block that differs or could not be read is read again from the plugin.  It
 * is read alone, or together with other blocks if the request has already
 * failed.  If it is still not good, it is read from the repair sources, which
 * are trusted no more than the plugin.
 *
 * A request fails as a whole.  If it fails because a block differs, the other
 * blocks of the same read are still verified, so that all among them that
 * differ are reported, unless they cannot be read again.  If it fails because
 * of an unreadable block, nothing more is read, because each block of a disk
 * that does not answer would cost a timeout.  Clients can read the other blocks
 * with smaller requests.  If the unreadable block can be repaired, the request
 * goes on.  After MAX_UNREADABLE unreadable blocks were repaired, the request
 * reads each further block from the repair sources first, and from the plugin
 * only if no source has it.  A block that is served without a read from the
 * plugin keeps its state.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "../lib/common/util.h"
#include "verify/batch.h"
#include "verify/compare.h"
#include "verify/disk.h"
#include "verify/finding.h"
#include "verify/params.h"
#include "verify/repair.h"
#include "verify/source.h"

#define MAX_UNREADABLE 4

/* ---- Reading ---- */

/* Read BATCH, and set in GOOD which of its blocks are good.  Returns 0; 1 with
 * *CHECK->err if the blocks cannot be read; or -1 with *CHECK->err if they
 * cannot be hashed.
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

/* Retry BLOCK, which differs or, if UNREADABLE is set, could not be read.
 * Returns 0 with *STATE, or -1 with *CHECK->err if it cannot be hashed.
 */
static int
retry_block (const struct check *check, const struct compare_batch *block,
             bool unreadable, enum block_state *state)
{
  unsigned tries = verify_params.retry;

  *state = unreadable ? BLOCK_UNREADABLE : BLOCK_DIFFERS;
  for (; tries > 0 && *state != BLOCK_OK; tries--) {
    bool good = false;
    int r;

    r = read_and_compare (check, block, &good);
    if (r == -1)
      return -1;
    *state = r == 1 ? BLOCK_UNREADABLE : good ? BLOCK_OK : BLOCK_DIFFERS;
  }
  if (*state == BLOCK_OK)
    tally_add_transient (&check->disk->tally);
  return 0;
}

/* A sleep of length zero asks nbdkit whether the client or nbdkit is ending.
 * nbdkit logs an error each time it interrupts a sleep, so do not ask again
 * after it did.
 */
static bool
is_stopped (struct check *check)
{
  if (!check->stopped)
    check->stopped = nbdkit_nanosleep (0, 0) == -1;
  return check->stopped;
}

/* Replace the content of BLOCK with that of a repair source.  Returns false if
 * there is no source, no source has it, or the request is stopped.
 */
static bool
repair (struct check *check, const struct compare_batch *block)
{
  return verify_params.nr_repair > 0 && !is_stopped (check) &&
    repair_read (check->disk, block);
}

/* ---- Failing ---- */

/* Apply the effect of a block in STATE on the request and the disk.  Returns
 * true if the request fails.  Even FAIL_STOP does not stop the disk if the
 * client or nbdkit is ending, and this can be why a filter below failed to read
 * the block, or why no repair source was read.  In the latter case FAIL_WARN
 * does not serve the block, because a source may have it: a client that has
 * only closed its side of the connection still gets the reply.
 */
static bool
apply_state (struct check *check, enum block_state state)
{
  if (state != BLOCK_DIFFERS && state != BLOCK_UNREADABLE)
    return false;
  if (state == BLOCK_DIFFERS && verify_params.fail == FAIL_WARN &&
      !check->stopped) {
    check->unproven = true;
    return false;
  }
  if (state == BLOCK_DIFFERS)
    *check->err = EIO;
  if (verify_params.fail == FAIL_STOP && !check->stopped &&
      !(state == BLOCK_UNREADABLE && is_stopped (check)))
    disk_stop (check->disk);
  return true;
}

/* ---- Batches ---- */

/* The request has already failed because of another block.  Retry the blocks of
 * BATCH that are not GOOD, as often as retry_block does.  Each retry is one
 * read from the first of these blocks to the last.  Set GOOD for the blocks
 * that are good in a retry.  Returns the same as read_and_compare.
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
 * BATCH is a single block.  Repair blocks and set their states.  Add to FINDING
 * the blocks whose state changed but is not good.  Returns -1 if the request
 * fails.
 */
static int
handle_result (struct check *check, const struct compare_batch *batch, int r,
               bool *good, struct finding *finding)
{
  bool failed = false;
  size_t i;

  for (i = 0; i < batch->count; i++) {
    struct compare_batch block = compare_part (check->disk, batch, i, 1);
    enum block_state state = BLOCK_OK, old;
    bool reset;

    check->read.has_retried |= !good[i];
    if (!good[i] && failed)
      state = BLOCK_DIFFERS;
    else if (!good[i] && retry_block (check, &block, r == 1, &state) == -1)
      return -1;
    if (state != BLOCK_OK && repair (check, &block)) {
      check->unreadable += state == BLOCK_UNREADABLE;
      state = state == BLOCK_DIFFERS ? BLOCK_REPAIRED
                                     : BLOCK_UNREADABLE_REPAIRED;
    }
    old = tally_set (&check->disk->tally, &check->read, block.first, state,
                     &reset);
    if (reset)
      block_cache_clear (&check->disk->cache);
    if (reset && verify_params_have_output ())
      finding_log_reset (check->disk, block.first, old);
    if (state != BLOCK_OK && state != old)
      finding_add (finding, check->disk, block.first, state, *check->err);
    if (failed || !apply_state (check, state))
      continue;
    if (state == BLOCK_UNREADABLE)
      return -1;                /* the next blocks could time out as well */
    failed = true;
    block = compare_part (check->disk, batch, i + 1, batch->count - i - 1);
    if (retry_rest (check, &block, good + i + 1) != 0)
      break;
  }
  if (failed)
    *check->err = EIO;
  return failed ? -1 : 0;
}

/* Read BATCH.  If a range cannot be read, its first half is read, and so on
 * down to a single block.  If the first half can be read, the unreadable block
 * is in the second half, which is then halved as well instead of being read as
 * a whole.  So an unreadable block is found with about log2 (count) reads, each
 * of which may end with a timeout.  The blocks after it are often unreadable as
 * well, so the next read is of one block, and each successful read doubles the
 * size of the next one.
 */
static int
read_batch (struct check *check, const struct compare_batch *batch)
{
  struct finding finding = { .count = 0 };
  size_t at = 0, fail_end = 0;  /* FAIL_END is the end of the last range of
                                 * several blocks that could not be read; if
                                 * AT < FAIL_END, its rest is read by halves */
  size_t most = batch->count;   /* maximum blocks of the next read */
  int result = 0;

  while (result == 0 && at < batch->count) {
    size_t n = at < fail_end ? (fail_end - at + 1) / 2 : batch->count - at;
    struct compare_batch part = compare_part (check->disk, batch, at, 1);
    bool good[MAX_BATCH] = { false };
    int r;

    if (check->unreadable >= MAX_UNREADABLE) {
      most = 1;
      if (repair (check, &part)) {
        at++;
        continue;
      }
    }
    n = MIN (n, most);
    part = compare_part (check->disk, batch, at, n);
    r = read_and_compare (check, &part, good);
    if (r == 1 && n > 1) {
      fail_end = at + n;
      continue;
    }
    result = r == -1 ? -1 : handle_result (check, &part, r, good, &finding);
    most = r == 1 ? 1 : MIN (2 * most, batch->count);
    at += n;
  }
  finding_log (&finding, check->disk);
  return result;
}

int
batch_read (struct check *check, const struct compare_batch *batch)
{
  struct tally *tally = &check->disk->tally;
  int r;

  tally_begin_read (tally, &check->read, batch->first, batch->count);
  r = read_batch (check, batch);
  tally_end_read (tally, &check->read);
  check->unproven |= check->read.has_reset || check->read.has_failure;
  return r;
}
