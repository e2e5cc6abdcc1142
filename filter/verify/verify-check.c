/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Read a range of the disk, and verify each block of it; verify the zeros that
 * no client read.  See verify-check.h.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <nbdkit-filter.h>

#include "../lib/common/util.h"
#include "blkhash.h"
#include "verify/tally.h"
#include "verify/verify-check.h"
#include "verify/verify-disk.h"
#include "verify/verify-export.h"
#include "verify/verify-params.h"
#include "verify/verify-repair.h"

#define MAX_BATCH 1024          /* blocks that are read and hashed at once */
#define MAX_UNREADABLE 4        /* unreadable blocks of a request, see below */

/* The state of a client's request while its blocks are read and verified. */
struct verify_request {
  struct verify_disk *disk;
  const struct plugin_disk *plugin;
  struct nbdkit_next_ops *next;
  int *err;                     /* set if the request fails */
  bool unproven;                /* content was served that was not verified:
                                 * zeros that were not read, or, with FAIL_WARN,
                                 * a block that differs; or the state of its
                                 * block was not set, because another read
                                 * overtook this one; cleared before each block
                                 * of which the request has only a part */
  unsigned unreadable;          /* number of unreadable blocks that were
                                 * repaired: a repair source had them, or they
                                 * must be zero */
  struct tally_read read;       /* while batch_read runs */
  bool stopped;                 /* the client or nbdkit is ending: read no more
                                 * sources for this request */
};

/* ---- The plugin ----
 *
 * Reads are extended to multiples of the minimum block size, and split at the
 * maximum.  An extended read needs a buffer of its own, but it is rare: the
 * block size of a manifest is usually a multiple of that minimum.
 */

#define MAX_READ (32 * 1024 * 1024) /* bytes; a plugin accepts this size
                                     * unless it has a smaller maximum */

int
plugin_disk_init (struct plugin_disk *plugin, nbdkit_next *next)
{
  int64_t size = next->get_size (next);
  uint32_t min, preferred, max;

  if (size == -1 || next->block_size (next, &min, &preferred, &max) == -1)
    return -1;
  plugin->size = size;
  plugin->min = min ? min : 1;
  plugin->max = ROUND_DOWN (MIN (max ? max : MAX_READ, MAX_READ), plugin->min);
  plugin->max = MAX (plugin->max, plugin->min);
  return 0;
}

static int
read_aligned (const struct plugin_disk *plugin, nbdkit_next *next,
              void *buf, size_t len, uint64_t offset, int *err)
{
  while (len > 0) {
    uint32_t n = MIN (len, plugin->max);

    if (next->pread (next, buf, n, offset, 0, err) == -1)
      return -1;
    buf = (char *) buf + n;
    len -= n;
    offset += n;
  }
  return 0;
}

/* Read LEN bytes at OFFSET from the plugin.  The range must be within the
 * plugin's disk.  Returns 0, or -1 with *ERR after nbdkit_error.
 */
static int
read_plugin (const struct plugin_disk *plugin, nbdkit_next *next,
             void *buf, size_t len, uint64_t offset, int *err)
{
  uint64_t min = plugin->min, start = ROUND_DOWN (offset, min);
  uint64_t end = MIN (ROUND_UP (offset + len, min), plugin->size);
  char *wide;
  int r;

  if (start == offset && end == offset + len)
    return read_aligned (plugin, next, buf, len, offset, err);
  wide = malloc (end - start);
  if (!wide) {
    nbdkit_error ("blkhash-verify: %m");
    *err = ENOMEM;
    return -1;
  }
  r = read_aligned (plugin, next, wide, end - start, start, err);
  if (r == 0)
    memcpy (buf, wide + (offset - start), len);
  free (wide);
  return r;
}

/* ---- Findings ---- */

/* A range of consecutive blocks in one state, to log. */
struct finding {
  uint64_t first, count;
  enum block_state state;
  int err;                      /* why it is unreadable */
};

#define REPAIRED "; repaired for clients, not on the disk"

/* Log FINDING, unless it is empty. */
static void
finding_log (const struct finding *finding, const struct verify_disk *disk)
{
  uint64_t bytes = verify_disk_bytes (disk, finding->first, finding->count);
  uint64_t start = finding->first * disk->block_size;

  if (finding->count == 0)
    return;
  if (finding->state == BLOCK_UNREADABLE ||
      finding->state == BLOCK_UNREADABLE_REPAIRED)
    nbdkit_error ("blkhash-verify: %" PRIu64 " bytes at %" PRIu64 " cannot be "
                  "read: %s%s", bytes, start, strerror (finding->err),
                  finding->state == BLOCK_UNREADABLE ? "" : REPAIRED);
  else
    nbdkit_error ("blkhash-verify: %" PRIu64 " bytes at %" PRIu64 " differ "
                  "from %s%s", bytes, start, disk->path,
                  finding->state == BLOCK_DIFFERS ? "" : REPAIRED);
}

/* Log that BLOCK had the state OLD when it was read before, and has another one
 * now, so that the states of all blocks were reset.
 */
static void
finding_log_reset (const struct verify_disk *disk, uint64_t block,
                   enum block_state old)
{
  nbdkit_error ("blkhash-verify: %" PRIu64 " bytes at %" PRIu64 " %s when they "
                "were read before; the disk has changed, all other blocks "
                "count as missing", verify_disk_bytes (disk, block, 1),
                block * disk->block_size,
                old == BLOCK_OK ? "did not differ" : "differed");
}

/* Extend FINDING by BLOCK.  If BLOCK is not adjacent or has another state, log
 * FINDING first, and begin a new one.
 */
static void
finding_add (struct finding *finding, const struct verify_disk *disk,
             uint64_t block, enum block_state state, int err)
{
  if (finding->count > 0 && finding->state == state &&
      finding->first + finding->count == block)
    finding->count++;
  else {
    finding_log (finding, disk);
    *finding = (struct finding) { block, 1, state, err };
  }
}

/* ---- Batches ----
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

enum read_result {
  READ_DONE,
  READ_UNREADABLE,              /* the plugin cannot read a block */
  READ_UNHASHED                 /* the blocks cannot be hashed */
};

/* Read BATCH, and set in GOOD which of its blocks are good.  *REQUEST->err is
 * set unless the result is READ_DONE.
 */
static enum read_result
read_and_compare (const struct verify_request *request,
                  const struct compare_batch *batch, bool *good)
{
  struct verify_disk *disk = request->disk;
  int err;

  if (read_plugin (request->plugin, request->next, batch->buf,
                   verify_disk_bytes (disk, batch->first, batch->count),
                   batch->first * disk->block_size, request->err) == -1)
    return READ_UNREADABLE;
  err = compare_blocks (disk, batch, good);
  if (err == 0)
    return READ_DONE;
  nbdkit_error ("blkhash-verify: cannot hash: %s", strerror (err));
  *request->err = err;
  return READ_UNHASHED;
}

/* Retry BLOCK, which differs or, if UNREADABLE is set, could not be read.
 * Returns 0 with *STATE, or -1 with *REQUEST->err if it cannot be hashed.
 */
static int
retry_block (const struct verify_request *request,
             const struct compare_batch *block, bool unreadable,
             enum block_state *state)
{
  unsigned tries = verify_params.retry;

  *state = unreadable ? BLOCK_UNREADABLE : BLOCK_DIFFERS;
  for (; tries > 0 && *state != BLOCK_OK; tries--) {
    bool good = false;
    enum read_result r = read_and_compare (request, block, &good);

    if (r == READ_UNHASHED)
      return -1;
    *state = r == READ_UNREADABLE ? BLOCK_UNREADABLE
      : good ? BLOCK_OK : BLOCK_DIFFERS;
  }
  if (*state == BLOCK_OK)
    tally_add_transient (&request->disk->tally);
  return 0;
}

/* A sleep of length zero asks nbdkit whether the client or nbdkit is ending.
 * nbdkit logs an error each time it interrupts a sleep, so do not ask again
 * after it did.
 */
static bool
is_stopped (struct verify_request *request)
{
  if (!request->stopped)
    request->stopped = nbdkit_nanosleep (0, 0) == -1;
  return request->stopped;
}

/* Replace the content of BLOCK with that of a repair source.  Returns false if
 * there is no source, no source has it, or the request is stopped.
 */
static bool
repair (struct verify_request *request, const struct compare_batch *block)
{
  return verify_params.nr_repair > 0 && !is_stopped (request) &&
    repair_read (request->disk, block);
}

/* Apply the effect of a block in STATE on the request and the disk.  Returns
 * true if the request fails.  Even FAIL_STOP does not stop the disk if the
 * client or nbdkit is ending, and this can be why a filter below failed to read
 * the block, or why no repair source was read.  In the latter case FAIL_WARN
 * does not serve the block, because a source may have it: a client that has
 * only closed its side of the connection still gets the reply.
 */
static bool
apply_state (struct verify_request *request, enum block_state state)
{
  if (state != BLOCK_DIFFERS && state != BLOCK_UNREADABLE)
    return false;
  if (state == BLOCK_DIFFERS && verify_params.fail == FAIL_WARN &&
      !request->stopped) {
    request->unproven = true;
    return false;
  }
  if (state == BLOCK_DIFFERS)
    *request->err = EIO;
  if (verify_params.fail == FAIL_STOP && !request->stopped &&
      !(state == BLOCK_UNREADABLE && is_stopped (request)))
    verify_disk_stop (request->disk);
  return true;
}

/* The request has already failed because of another block.  Retry the blocks of
 * BATCH that are not GOOD, as often as retry_block does.  Each retry is one
 * read from the first of these blocks to the last.  Set GOOD for the blocks
 * that are good in a retry.  Returns the same as read_and_compare.
 */
static enum read_result
retry_rest (const struct verify_request *request,
            const struct compare_batch *batch, bool *good)
{
  size_t start = 0, end = batch->count, i;
  bool now_good[MAX_BATCH];
  unsigned tries;

  for (tries = verify_params.retry; tries > 0; tries--) {
    struct compare_batch rest;
    enum read_result r;

    while (start < end && good[start])
      start++;
    while (start < end && good[end - 1])
      end--;
    if (start == end)
      break;
    rest = compare_part (request->disk, batch, start, end - start);
    r = read_and_compare (request, &rest, now_good);
    if (r != READ_DONE)
      return r;
    for (i = start; i < end; i++)
      if (!good[i] && now_good[i - start]) {
        good[i] = true;
        tally_add_transient (&request->disk->tally);
      }
  }
  return READ_DONE;
}

/* BATCH was read, and GOOD is set; or, if UNREADABLE is set, BATCH is a single
 * block that cannot be read.  Repair blocks and set their states.  Add to
 * FINDING the blocks whose state changed but is not good.  Returns -1 if the
 * request fails.
 */
static int
set_states (struct verify_request *request, const struct compare_batch *batch,
            bool unreadable, bool *good, struct finding *finding)
{
  bool failed = false;
  size_t i;

  for (i = 0; i < batch->count; i++) {
    struct compare_batch block = compare_part (request->disk, batch, i, 1);
    enum block_state state = BLOCK_OK, old;
    bool reset;

    request->read.has_retried |= !good[i];
    if (!good[i] && failed)
      state = BLOCK_DIFFERS;
    else if (!good[i] &&
             retry_block (request, &block, unreadable, &state) == -1)
      return -1;
    if (state != BLOCK_OK && repair (request, &block)) {
      request->unreadable += state == BLOCK_UNREADABLE;
      state = state == BLOCK_DIFFERS ? BLOCK_REPAIRED
                                     : BLOCK_UNREADABLE_REPAIRED;
    }
    old = tally_set (&request->disk->tally, &request->read, block.first, state,
                     &reset);
    if (reset)
      block_cache_clear (&request->disk->cache);
    if (reset && verify_params_have_output ())
      finding_log_reset (request->disk, block.first, old);
    if (state != BLOCK_OK && state != old)
      finding_add (finding, request->disk, block.first, state, *request->err);
    if (failed || !apply_state (request, state))
      continue;
    if (state == BLOCK_UNREADABLE)
      return -1;                /* the next blocks could time out as well */
    failed = true;
    block = compare_part (request->disk, batch, i + 1, batch->count - i - 1);
    if (retry_rest (request, &block, good + i + 1) != READ_DONE)
      break;
  }
  if (failed)
    *request->err = EIO;
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
read_batch (struct verify_request *request, const struct compare_batch *batch)
{
  struct finding finding = { .count = 0 };
  size_t at = 0, fail_end = 0;  /* FAIL_END is the end of the last range of
                                 * several blocks that could not be read; if
                                 * AT < FAIL_END, its rest is read by halves */
  size_t most = batch->count;   /* maximum blocks of the next read */
  int result = 0;

  while (result == 0 && at < batch->count) {
    size_t n = at < fail_end ? (fail_end - at + 1) / 2 : batch->count - at;
    struct compare_batch part = compare_part (request->disk, batch, at, 1);
    bool good[MAX_BATCH] = { false };
    enum read_result r;

    if (request->unreadable >= MAX_UNREADABLE) {
      most = 1;
      if (repair (request, &part)) {
        at++;
        continue;
      }
    }
    n = MIN (n, most);
    part = compare_part (request->disk, batch, at, n);
    r = read_and_compare (request, &part, good);
    if (r == READ_UNREADABLE && n > 1) {
      fail_end = at + n;
      continue;
    }
    result = r == READ_UNHASHED ? -1
      : set_states (request, &part, r == READ_UNREADABLE, good, &finding);
    most = r == READ_UNREADABLE ? 1 : MIN (2 * most, batch->count);
    at += n;
  }
  finding_log (&finding, request->disk);
  return result;
}

/* Read, verify and, if needed, repair BATCH, at most MAX_BATCH blocks.  Returns
 * 0, or -1 with *REQUEST->err if the request fails.
 */
static int
batch_read (struct verify_request *request, const struct compare_batch *batch)
{
  struct tally *tally = &request->disk->tally;
  int r;

  tally_begin_read (tally, &request->read, batch->first, batch->count);
  r = read_batch (request, batch);
  tally_end_read (tally, &request->read);
  request->unproven |= request->read.has_reset || request->read.has_failure;
  return r;
}

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
 * ZERO_READ.  LEAVES has room for the leaves of COUNT blocks.  Returns 0, or -1
 * with *REQUEST->err.
 */
static int
read_blocks (struct verify_request *request, uint64_t first, size_t count,
             unsigned char *buf, unsigned char *leaves)
{
  struct verify_disk *disk = request->disk;

  while (count > 0) {
    struct blkhash_manifest_run run;
    struct compare_batch batch;

    if (verify_disk_get_run (disk, first, count, leaves, &run,
                             request->err) == -1)
      return -1;
    batch = (struct compare_batch) { first, run.count, run.leaves, buf };
    if (!run.leaves && verify_params.zero != ZERO_READ) {
      memset (buf, 0, verify_disk_bytes (disk, first, run.count));
      request->unproven = true;
    }
    else if (batch_read (request, &batch) == -1)
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
read_part (struct verify_request *request, uint64_t block, void *buf,
           size_t len, size_t skip)
{
  struct verify_disk *disk = request->disk;
  size_t size = verify_disk_bytes (disk, block, 1);
  unsigned char leaf[BLKHASH_MAX_MD_SIZE], *bytes;
  struct block_load load;
  int r;

  if (block_cache_begin (&disk->cache, block, buf, len, skip, &load))
    return 0;
  bytes = malloc (size);
  request->unproven = false;
  r = bytes ? read_blocks (request, block, 1, bytes, leaf)
            : no_memory (request->err);
  if (r == 0)
    memcpy (buf, bytes + skip, len);
  block_cache_end (&disk->cache, &load,
                   r == 0 && !request->unproven ? bytes : NULL, size);
  free (bytes);
  return r;
}

/* Read COUNT whole blocks, beginning with FIRST, into BUF. */
static int
read_whole (struct verify_request *request, uint64_t first, uint64_t count,
            unsigned char *buf)
{
  struct verify_disk *disk = request->disk;
  size_t room = MIN (count, MAX_BATCH);
  unsigned char *leaves = malloc (room * disk->leaf_size);
  int r = leaves ? 0 : no_memory (request->err);

  while (r == 0 && count > 0) {
    size_t n = MIN (count, room);

    r = read_blocks (request, first, n, buf, leaves);
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
read_next (struct verify_request *request, unsigned char *buf, uint64_t offset,
           uint64_t end, size_t *len)
{
  struct verify_disk *disk = request->disk;
  uint64_t block = offset / disk->block_size;
  size_t skip = offset % disk->block_size;
  uint64_t blocks = end / disk->block_size;

  if (end == disk->size)
    blocks = disk->blocks;      /* the last one is whole, even if short */
  if (skip == 0 && block < blocks) {
    *len = verify_disk_bytes (disk, block, blocks - block);
    return read_whole (request, block, blocks - block, buf);
  }
  *len = MIN (verify_disk_bytes (disk, block, 1) - skip, end - offset);
  return read_part (request, block, buf, *len, skip);
}

int
check_read (struct verify_disk *disk, const struct plugin_disk *plugin,
            nbdkit_next *next, void *buf, uint32_t count, uint64_t offset,
            int *err)
{
  struct verify_request request = {
    .disk = disk, .plugin = plugin, .next = next, .err = err
  };
  uint64_t end = offset + count;
  unsigned char *at = buf;

  if (verify_disk_is_stopped (disk)) {
    *err = EIO;
    return -1;
  }
  while (offset < end) {
    size_t len;

    if (read_next (&request, at, offset, end, &len) == -1)
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
set_zeros (struct verify_disk *disk, uint64_t offset, uint64_t len)
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
use_extents (struct verify_disk *disk, const struct nbdkit_extents *extents,
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
query_zeros (struct verify_export *export, nbdkit_next *next, uint64_t first,
             uint64_t count)
{
  struct verify_disk *disk = export->disk;
  uint64_t at = first * disk->block_size;
  uint64_t end = at + verify_disk_bytes (disk, first, count);

  while (at < end && !verify_export_must_end_pass (export)) {
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
read_zeros (struct verify_request *request, uint64_t first, uint64_t count,
            unsigned char *buf)
{
  struct verify_disk *disk = request->disk;
  uint64_t most = MAX (ZEROS_SIZE / disk->block_size, 1), run;
  struct compare_batch batch = {
    .first = first, .count = MIN (MIN (count, most), MAX_BATCH), .buf = buf
  };
  enum block_state state;

  if (batch_read (request, &batch) == 0)
    return batch.count;
  /* It failed.  If each block has a state, go on after them. */
  for (; first < batch.first + batch.count; first += run) {
    run = tally_get_run (&disk->tally, first, &state);
    if (state == BLOCK_MISSING)
      return 0;
  }
  return verify_disk_is_stopped (disk) ? 0 : batch.count;
}

/* The manifest has COUNT blocks of zeros from FIRST on.  Returns false if they
 * cannot be read, or the pass must end.
 */
static bool
verify_zeros (struct verify_request *request, struct verify_export *export,
              uint64_t first, uint64_t count, bool has_extents,
              unsigned char *buf)
{
  struct verify_disk *disk = request->disk;
  uint64_t end = first + count, run;
  enum block_state state;

  if (has_extents)
    query_zeros (export, request->next, first, count);
  for (; first < end; first += run) {
    if (verify_export_must_end_pass (export))
      return false;
    run = MIN (tally_get_run (&disk->tally, first, &state), end - first);
    if (state == BLOCK_MISSING &&
        (run = read_zeros (request, first, run, buf)) == 0)
      return false;
  }
  return true;
}

/* Set *RUN to the next blocks that are all data or all zeros in the manifest,
 * from FIRST on.  Returns false at the end of the disk, or after nbdkit_error.
 */
static bool
next_run (struct verify_disk *disk, uint64_t first,
          struct blkhash_manifest_run *run)
{
  int err;

  return first < disk->blocks &&
    verify_disk_get_run (disk, first, disk->blocks - first, NULL, run,
                         &err) == 0;
}

static bool
all_data_was_read (struct verify_disk *disk)
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
check_all_zeros (struct verify_export *export, const struct plugin_disk *plugin,
                 nbdkit_next *next)
{
  struct verify_disk *disk = export->disk;
  struct blkhash_manifest_run run;
  int err = EIO;
  struct verify_request request = {
    .disk = disk, .plugin = plugin, .next = next, .err = &err
  };
  bool has_extents;
  unsigned char *buf;
  uint64_t block;

  if (verify_disk_is_stopped (disk) || !all_data_was_read (disk))
    return;
  buf = malloc (MAX (ZEROS_SIZE, disk->block_size));
  if (!buf) {
    no_memory (&err);
    return;
  }
  has_extents = next->can_extents (next) == 1;
  for (block = 0; next_run (disk, block, &run); block += run.count)
    if (!run.leaves &&
        !verify_zeros (&request, export, block, run.count, has_extents, buf))
      break;
  free (buf);
}

void
check_zeros (struct verify_export *export, const struct plugin_disk *plugin,
             nbdkit_next *next)
{
  if (!verify_export_begin_pass (export))
    return;
  check_all_zeros (export, plugin, next);
  verify_export_end_pass (export);
}
