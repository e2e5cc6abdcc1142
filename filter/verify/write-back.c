/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write a repaired block to the plugin.
 *
 * Only one thread at a time repairs a given block.  Before it writes, it reads
 * the block from the plugin once more, and it writes only if the block is still
 * bad.  So a good block is never written, and a block that several clients need
 * is written once.  A write never covers more than the block, and its content
 * always matches the manifest.
 *
 * The number of writes is limited, because a disk on which many blocks differ
 * may not be the disk of the manifest.  Writes that fail count as well.
 *
 * A block is not written again after a failure.  If the write, the flush or
 * the read afterwards fails, the content of the storage is unknown, even if a
 * later read returns the right content: the kernel can discard data that it
 * failed to write, and then a later flush succeeds.  So the block keeps the
 * mark of tally_begin_write, and does not become good again in this process.
 *
 * A block that cannot be read before the write is written only if the error
 * comes from the storage.
 *
 * If the process is killed during a write, the block has the old content, the
 * new content, or a mix of both.  If it is still bad, it is repaired when it is
 * read again.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "../lib/common/strata.h"
#include "verify/compare.h"
#include "verify/disk.h"
#include "verify/params.h"
#include "verify/source.h"
#include "verify/write-back.h"

#define FREE_WRITES 8           /* writes allowed even if no block was good */

/* A block that a thread is repairing; it is on the stack of the thread.  There
 * is only one disk, because repair is not possible with blkhash-verify-exports.
 */
struct repair {
  struct repair *next;
  uint64_t block;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct repair *repairs;  /* protected by lock */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

/* ---- Threads ---- */

static bool
is_repairing_locked (uint64_t block)
{
  const struct repair *repair = repairs;

  while (repair && repair->block != block)
    repair = repair->next;
  return repair;
}

static void
wait_locked (uint64_t block)
{
  while (is_repairing_locked (block))
    pthread_cond_wait (&ended, &lock);
}

void
write_back_wait (uint64_t block)
{
  SCOPED_LOCK (&lock);

  wait_locked (block);
}

static void
begin (struct repair *repair, uint64_t block)
{
  SCOPED_LOCK (&lock);

  wait_locked (block);
  *repair = (struct repair) { repairs, block };
  repairs = repair;
}

static void
end (struct repair *repair)
{
  struct repair **link = &repairs;
  SCOPED_LOCK (&lock);

  while (*link != repair)
    link = &(*link)->next;
  *link = repair->next;
  pthread_cond_broadcast (&ended);
}

/* ---- Blocks ---- */

enum content {
  CONTENT_GOOD,
  CONTENT_BAD,                  /* or the storage failed to read it */
  CONTENT_UNKNOWN,
};

/* Returns true if ERR means that the storage failed.  Other errors can mean
 * that the plugin has lost its connection, that the client is gone, or that
 * there is no memory.
 */
static bool
is_error_of_storage (int err)
{
  switch (err) {
  case EIO:
  case EILSEQ:
#ifdef ENODATA
  case ENODATA:
#endif
#ifdef EREMOTEIO
  case EREMOTEIO:
#endif
    return true;
  }
  return false;
}

/* Read BLOCK from the plugin to ROOM, and compare it with the manifest.  Before
 * the read, each byte of ROOM differs from BLOCK, so that a read that does not
 * store the whole block cannot look good.
 */
static enum content
read_content (struct disk *disk, const struct source *source,
              nbdkit_next *next, const struct compare_batch *block,
              const struct compare_batch *room)
{
  size_t len = disk_bytes (disk, block->first, 1), i;
  bool good = false;
  int err = EIO;

  for (i = 0; i < len; i++)
    room->buf[i] = ~block->buf[i];
  if (source_read (source, next, room->buf, len,
                   block->first * disk->block_size, &err) == -1)
    return is_error_of_storage (err) ? CONTENT_BAD : CONTENT_UNKNOWN;
  if (compare (disk, room, &good) != 0)
    return CONTENT_UNKNOWN;
  return good ? CONTENT_GOOD : CONTENT_BAD;
}

/* Write and flush, or write with FUA if the plugin has FUA but no flush. */
static int
write_bytes (const struct source *source, nbdkit_next *next,
             const unsigned char *buf, size_t len, uint64_t offset, int *err)
{
  bool flush = next->can_flush (next) == 1;
  uint32_t flags = !flush && next->can_fua (next) > NBDKIT_FUA_NONE
    ? NBDKIT_FLAG_FUA : 0;

  while (len > 0) {
    uint32_t n = MIN (len, source->max);

    if (next->pwrite (next, buf, n, offset, flags, err) == -1)
      return -1;
    buf += n;
    len -= n;
    offset += n;
  }
  return flush ? next->flush (next, 0, err) : 0;
}

/* Returns how many writes are allowed so far.  The maximum is
 * blkhash-verify-repair-limit, a share of all blocks of data, but at least one
 * block unless the share is 0%.  If the share is less than 100%, there is a
 * second maximum: the same share of the blocks of data that were good so far,
 * plus FREE_WRITES.  MAX_BLOCKS in disk.c keeps the products below 2^64.
 */
static uint64_t
get_limit (struct disk *disk)
{
  uint64_t share = verify_params.repair_limit;
  uint64_t all = disk->data_blocks * share / STRATA_ALL, now;

  all = MAX (all, share > 0);
  if (share == STRATA_ALL)
    return all;
  now = tally_get_proven (&disk->tally) * share / STRATA_ALL + FREE_WRITES;
  return MIN (all, now);
}

/* Mark BLOCK and return true if it may be written. */
static bool
begin_write (struct disk *disk, uint64_t block)
{
  uint64_t limit = get_limit (disk);
  bool is_first;

  if (tally_begin_write (&disk->tally, block, limit, &is_first))
    return true;
  if (is_first)
    nbdkit_error ("blkhash-verify: blkhash-verify-repair-limit limits the "
                  "number of writes, failed ones included, to %" PRIu64
                  ": bad blocks are only repaired in flight, and the disk may "
                  "not be that of %s", limit, disk->path);
  return false;
}

/* Write BLOCK, which is bad on the plugin's disk, to the plugin, and read it to
 * ROOM.  Returns true if the disk now has the right content.
 */
static bool
write_block (struct disk *disk, const struct source *source, nbdkit_next *next,
             const struct compare_batch *block,
             const struct compare_batch *room)
{
  size_t len = disk_bytes (disk, block->first, 1);
  uint64_t offset = block->first * disk->block_size;
  int err = EIO;

  if (write_bytes (source, next, block->buf, len, offset, &err) == -1)
    nbdkit_error ("blkhash-verify: %zu bytes at %" PRIu64 " cannot be written: "
                  "%s", len, offset, strerror (err));
  else if (read_content (disk, source, next, block, room) != CONTENT_GOOD)
    nbdkit_error ("blkhash-verify: %zu bytes at %" PRIu64 " were written, but "
                  "are still bad", len, offset);
  else {
    tally_end_write (&disk->tally, block->first);
    return true;
  }
  tally_add_failed_write (&disk->tally);
  return false;
}

/* Returns true if BLOCK can be written without any bytes after it.  With
 * blkhash-verify-size=truncate, the last block of the disk can end within a
 * minimum block of the plugin, whose other bytes are not in the manifest.
 */
static bool
is_writable (const struct disk *disk, const struct source *source,
             uint64_t block)
{
  uint64_t end = block * disk->block_size + disk_bytes (disk, block, 1);

  return end % source->min == 0 || end == source->size;
}

/* Repair BLOCK, which no other thread repairs at the same time.  ROOM has
 * memory for a block.
 */
static enum write_back
repair (struct disk *disk, const struct source *source, nbdkit_next *next,
        const struct compare_batch *block, const struct compare_batch *room)
{
  enum content content;

  if (tally_is_marked (&disk->tally, block->first))
    return WRITE_BACK_FAILED;
  content = read_content (disk, source, next, block, room);
  if (content == CONTENT_GOOD)
    return WRITE_BACK_NOT_NEEDED;
  return content == CONTENT_BAD && begin_write (disk, block->first) &&
    write_block (disk, source, next, block, room)
    ? WRITE_BACK_DONE : WRITE_BACK_FAILED;
}

enum write_back
write_back (struct disk *disk, const struct source *source, nbdkit_next *next,
            const struct compare_batch *block)
{
  struct compare_batch room = *block;
  struct repair this;
  enum write_back result;

  if (!source->may_write || !is_writable (disk, source, block->first))
    return WRITE_BACK_FAILED;
  room.buf = malloc (disk_bytes (disk, block->first, 1));
  if (!room.buf) {
    nbdkit_error ("blkhash-verify: %m");
    return WRITE_BACK_FAILED;
  }
  begin (&this, block->first);
  result = repair (disk, source, next, block, &room);
  end (&this);
  free (room.buf);
  return result;
}
