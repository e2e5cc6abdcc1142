/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Write a repaired block to the plugin.
 *
 * One thread at a time repairs a block.  It reads the block from the plugin once
 * more before it writes, and writes only if the block is still bad.  So a good
 * block is never written, and a block that several clients need is written once.
 * What is written is always the content that the manifest proves, and never more
 * than the block.
 *
 * The number of writes is limited, because a disk of which many blocks differ may
 * be another one than that of the manifest.  Writes that fail count, too, so that
 * a disk which loses what is written is not written without end.
 *
 * If the process is killed, the block has the old or the new content, or a mix:
 * then it is still bad, and is repaired when it is read again.
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

/* A block that a thread repairs, on its stack.  There is only one disk, because
 * blkhash-verify-exports has no repair.
 */
struct repair {
  struct repair *next;
  uint64_t block;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct repair *repairs;  /* protected by lock */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

int
write_back_prepare (const struct disk *disk, const struct source *source,
                    nbdkit_next *next)
{
  int can_write = next->can_write (next);

  /* nbdkit caches all these. */
  if (can_write == -1 || next->can_flush (next) == -1 ||
      next->can_fua (next) == -1)
    return -1;
  if (!can_write) {
    nbdkit_error ("blkhash-verify-repair-write: the plugin cannot write");
    return -1;
  }
  if (disk->block_size % source->min != 0) {
    nbdkit_error ("blkhash-verify-repair-write: the blocks of the manifest, %"
                  PRIu32 " bytes, are not multiples of those that the plugin "
                  "writes, %" PRIu32 " bytes", disk->block_size, source->min);
    return -1;
  }
  return 0;
}

static bool
is_repairing_locked (uint64_t block)
{
  const struct repair *repair = repairs;

  while (repair && repair->block != block)
    repair = repair->next;
  return repair;
}

static void
begin (struct repair *repair, uint64_t block)
{
  SCOPED_LOCK (&lock);

  while (is_repairing_locked (block))
    pthread_cond_wait (&ended, &lock);
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

/* Does the plugin have BLOCK?  It is read to ROOM.  That has no byte of the block
 * before, so that a read which stores less than the block is not taken for good.
 */
static bool
is_good (struct disk *disk, const struct source *source, nbdkit_next *next,
         const struct compare_batch *block, const struct compare_batch *room)
{
  size_t len = disk_bytes (disk, block->first, 1), i;
  bool good = false;
  int err;

  for (i = 0; i < len; i++)
    room->buf[i] = ~block->buf[i];
  return source_read (source, next, room->buf, len,
                      block->first * disk->block_size, &err) == 0 &&
    compare (disk, room, &good) == 0 && good;
}

/* Write and flush.  A plugin without flush can have FUA. */
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

/* May another block be written?  With MAX_BLOCKS of disk.c, the product is less
 * than 2^64.
 */
static bool
is_within_limit (struct disk *disk)
{
  uint64_t limit = disk->data_blocks * verify_params.repair_limit / STRATA_ALL;
  bool is_first;

  if (verify_params.repair_limit > 0)
    limit = MAX (limit, 1);
  if (tally_add_write (&disk->tally, limit, &is_first))
    return true;
  if (is_first)
    nbdkit_error ("blkhash-verify: %" PRIu64 " blocks were written, which is "
                  "blkhash-verify-repair-limit: other bad blocks are only "
                  "repaired in flight, and the disk may not be that of %s",
                  limit, disk->path);
  return false;
}

/* BLOCK is bad on the plugin; ROOM has memory for it. */
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
  else if (!is_good (disk, source, next, block, room))
    nbdkit_error ("blkhash-verify: %zu bytes at %" PRIu64 " were written, but "
                  "are still bad", len, offset);
  else {
    nbdkit_error ("blkhash-verify: %zu bytes at %" PRIu64 " were bad, and were "
                  "repaired", len, offset);
    tally_add_repaired (&disk->tally);
    return true;
  }
  return false;
}

/* With blkhash-verify-size=truncate, the plugin can have more of its block than
 * the disk has of the last one.
 */
static bool
is_writable (const struct disk *disk, const struct source *source,
             uint64_t block)
{
  uint64_t end = block * disk->block_size + disk_bytes (disk, block, 1);

  return end % source->min == 0 || end == source->size;
}

bool
write_back (struct disk *disk, const struct source *source, nbdkit_next *next,
            const struct compare_batch *block)
{
  struct compare_batch room = *block;
  struct repair repair;
  bool good;

  if (!is_writable (disk, source, block->first))
    return false;
  room.buf = malloc (disk_bytes (disk, block->first, 1));
  if (!room.buf) {
    nbdkit_error ("blkhash-verify: %m");
    return false;
  }
  begin (&repair, block->first);
  good = is_good (disk, source, next, block, &room) ||
    (is_within_limit (disk) &&
     write_block (disk, source, next, block, &room));
  end (&repair);
  free (room.buf);
  return good;
}
