/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For unit tests: an image in memory, with random data and holes.  A simulated
 * file stores most data blocks of the image in the same order, with some gaps.
 * The place of other blocks is not known.  The reads of each block of the image
 * are counted.
 *
 * Programs that include this wrap file_read.
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

#include "io/file.h"
#include "read/image-reader.h"
#include "util/error.h"

#define BLOCK 4096              /* bytes */
#define BLOCKS 3000             /* maximum size of the image */

/* A simulated file, and the function that reads it. */
struct simulated {
  struct file file;
  int (*read) (struct simulated *simulated, void *buf, size_t len, uint64_t at,
               struct error *error);
};

int __wrap_file_read (struct file *file, void *buf, size_t len, uint64_t at,
                      uint64_t offset, struct error *error);

int
__wrap_file_read (struct file *file, void *buf, size_t len, uint64_t at,
                  uint64_t offset, struct error *error)
{
  struct simulated *simulated = (struct simulated *) file;

  (void) offset;
  return simulated->read (simulated, buf, len, at, error);
}

struct disk {
  struct simulated simulated;
  uint64_t size;                /* bytes */
  unsigned char *bytes;
  bool hole[BLOCKS];            /* is the block in a zero extent? */
  enum place_kind kind[BLOCKS];
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
  for (uint64_t i = 0, hole = 0, left = 0, place = 0, known = 0;
       i * BLOCK < disk->size; i++) {
    if (left-- == 0) {
      hole = rnd (2);
      known = rnd (4);
      left = rnd (rnd (2) ? 5 : BLOCKS);
    }
    disk->hole[i] = hole;
    disk->kind[i] = !known ? PLACE_UNKNOWN : hole ? PLACE_ZEROS : PLACE_FILE;
    disk->reads[i] = 0;
    if (!hole) {
      disk->bytes[i * BLOCK] = 1 + rnd (255);
      place += rnd (8) == 0 ? 2 + rnd (2) : 1;
      disk->place[i] = place;
      disk->at_place[place] = i;
    }
  }
}

/* Is block I + 1 in the same extent as block I? */
static inline bool
extent_continues (const struct disk *disk, uint64_t i)
{
  return (i + 1) * BLOCK < disk->size && disk->hole[i + 1] == disk->hole[i] &&
    disk->kind[i + 1] == disk->kind[i] &&
    (disk->kind[i] != PLACE_FILE || disk->place[i + 1] == disk->place[i] + 1);
}

static inline int
extent_at (void *opaque, uint64_t offset, struct extent *extent,
           struct error *error)
{
  struct disk *disk = opaque;
  uint64_t i = offset / BLOCK, last = i;

  (void) error;
  while (extent_continues (disk, last))
    last++;
  *extent = (struct extent) {
    .len = (last + 1) * BLOCK - offset,
    .zero = disk->hole[i],
    .place[0] = {
      .kind = disk->kind[i],
      .file = &disk->simulated.file,
      .host = (uint64_t) disk->place[i] * BLOCK + offset % BLOCK,
    },
  };
  return 0;
}

static inline int
read_blocks (void *opaque, const struct range *range, void *buf,
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

/* Read whole blocks from the file. */
static inline int
read_file (struct simulated *simulated, void *buf, size_t len, uint64_t at,
           struct error *error)
{
  struct disk *disk = (struct disk *) simulated;
  unsigned first = at / BLOCK;
  bool joined = false;

  assert_int_equal (at % BLOCK, 0);
  assert_int_equal (len % BLOCK, 0);
  for (unsigned n = 0; n < len / BLOCK; n++) {
    const struct range block = {
      .offset = (uint64_t) disk->at_place[first + n] * BLOCK, .len = BLOCK
    };

    assert_int_equal (disk->place[block.offset / BLOCK], first + n);
    joined |= block.offset / BLOCK != disk->at_place[first] + n;
    if (read_blocks (disk, &block, (char *) buf + n * BLOCK, error) == -1)
      return -1;
  }
  disk->joined += joined;
  return 0;
}

static inline struct image_ops
image_ops_of (struct disk *disk)
{
  disk->simulated.read = read_file;
  return (struct image_ops) {
    .size = disk->size, .opaque = disk, .extent_at = extent_at,
    .read = read_blocks, .whole_pages = true, .joins = true,
  };
}

#endif /* BLKSUM_TEST_DISK_H */
