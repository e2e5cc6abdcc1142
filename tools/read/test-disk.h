/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For unit tests: an image in memory, with random data and holes.  A simulated
 * file stores the data blocks of the image in the same order, with some gaps.
 * The reads of each block of the image are counted.
 */

#ifndef BLKSUM_TEST_DISK_H
#define BLKSUM_TEST_DISK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/reader.h"
#include "util/error.h"

#define BLOCK 4096              /* bytes */
#define BLOCKS 3000             /* maximum size of the image */

struct disk {
  uint64_t size;                /* bytes */
  unsigned char *bytes;
  bool hole[BLOCKS];            /* is the block in a zero extent? */
  atomic_uint reads[BLOCKS];    /* number of reads of the block */
  unsigned place[BLOCKS];       /* place of each data block in the file, in
                                 * blocks */
  unsigned at_place[4 * BLOCKS]; /* the block at each place in the file */
  atomic_uint joined;           /* number of reads that joined ranges */
  uint64_t fail_at;             /* a read of this byte fails */
  uint64_t streamed;            /* bytes that were read as a stream */
};

static unsigned seed = 1;

static inline unsigned
rnd (unsigned below)
{
  return rand_r (&seed) % below;
}

static inline void
make_disk (struct disk *disk)
{
  disk->size = rnd (10) == 0 ? 0 : 1 + rnd (BLOCKS * BLOCK);
  disk->fail_at = UINT64_MAX;
  disk->streamed = 0;
  disk->bytes = calloc (1, disk->size + 1);
  assert_non_null (disk->bytes);
  disk->joined = 0;
  for (uint64_t i = 0, hole = 0, left = 0, place = 0; i * BLOCK < disk->size;
       i++) {
    if (left-- == 0) {
      hole = rnd (2);
      left = rnd (rnd (2) ? 5 : BLOCKS);
    }
    disk->hole[i] = hole;
    disk->reads[i] = 0;
    if (!hole) {
      disk->bytes[i * BLOCK] = 1 + rnd (255);
      place += rnd (8) == 0 ? 2 + rnd (2) : 1;
      disk->place[i] = place;
      disk->at_place[place] = i;
    }
  }
}

static inline int
extent_at (void *opaque, uint64_t offset, struct extent *extent,
           struct error *error)
{
  const struct disk *disk = opaque;
  uint64_t i = offset / BLOCK, end = i;

  (void) error;
  while (end * BLOCK < disk->size && disk->hole[end] == disk->hole[i])
    end++;
  extent->len = end * BLOCK - offset;
  extent->zero = disk->hole[i];
  return 0;
}

static inline int
read_range (void *opaque, const struct range *range, void *buf,
            struct error *error)
{
  struct disk *disk = opaque;

  assert_true (range->offset + range->len <= disk->size);
  if (disk->fail_at - range->offset < range->len)
    return error_set (error, "no byte %d", (int) disk->fail_at);
  for (uint64_t at = 0; at < range->len; at += BLOCK)
    disk->reads[(range->offset + at) / BLOCK]++;
  memcpy (buf, disk->bytes + range->offset, range->len);
  return 0;
}

/* Is RANGE stored in one piece in the file? */
static inline bool
is_contiguous (const struct disk *disk, const struct range *range)
{
  uint64_t first = range->offset / BLOCK;

  for (uint64_t n = 0; n * BLOCK < range->len; n++)
    if (disk->hole[first + n] ||
        disk->place[first + n] != disk->place[first] + n)
      return false;
  return true;
}

static inline int
adjoin (void *opaque, const struct range *first, const struct range *second,
        struct error *error)
{
  const struct disk *disk = opaque;

  if (disk->fail_at - second->offset < second->len && disk->fail_at % 2 == 0)
    return error_set (error, "no byte %d", (int) disk->fail_at);
  return is_contiguous (disk, first) && is_contiguous (disk, second) &&
    disk->place[second->offset / BLOCK] ==
    disk->place[first->offset / BLOCK] + first->len / BLOCK;
}

/* Read LEN bytes from the file, from the first block of RANGE on.  The last
 * block can be read in part.
 */
static inline int
read_adjoining (void *opaque, const struct range *range, uint64_t len,
                void *buf, struct error *error)
{
  struct disk *disk = opaque;
  unsigned place = disk->place[range->offset / BLOCK];

  disk->joined++;
  for (uint64_t at = 0; at < len; at += BLOCK, place++) {
    struct range block = {
      .offset = (uint64_t) disk->at_place[place] * BLOCK,
      .len = len - at < BLOCK ? len - at : BLOCK,
    };

    if (read_range (disk, &block, (char *) buf + at, error) == -1)
      return -1;
  }
  return 0;
}

static inline struct reader_image
reader_image_of (struct disk *disk)
{
  return (struct reader_image) {
    .size = disk->size, .opaque = disk, .extent_at = extent_at,
    .read = read_range, .adjoin = adjoin, .read_adjoining = read_adjoining,
  };
}

#endif /* BLKSUM_TEST_DISK_H */
