/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For unit tests: an image in memory, with random data and holes.  The reads of
 * each block are counted.
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
#define BLOCKS 3000

struct disk {
  uint64_t size;                /* bytes */
  unsigned char *bytes;
  bool hole[BLOCKS];            /* is the block in a zero extent? */
  atomic_uint reads[BLOCKS];    /* number of reads of the block */
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
  for (uint64_t i = 0, hole = 0, left = 0; i * BLOCK < disk->size; i++) {
    if (left-- == 0) {
      hole = rnd (2);
      left = rnd (rnd (2) ? 5 : BLOCKS);
    }
    disk->hole[i] = hole;
    disk->reads[i] = 0;
    if (!hole)
      disk->bytes[i * BLOCK] = 1 + rnd (255);
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

static inline struct reader_image
reader_image_of (struct disk *disk)
{
  return (struct reader_image) {
    .size = disk->size, .opaque = disk, .extent_at = extent_at,
    .read = read_range,
  };
}

#endif /* BLKSUM_TEST_DISK_H */
