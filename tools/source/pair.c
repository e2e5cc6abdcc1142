/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The difference of two sources: see source.h.  The thread that reads a range
 * reads it from both sources, and compares the two buffers while they are in
 * the cache of its CPU.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "io/file-read.h"
#include "read/image-reader.h"
#include "read/scan.h"
#include "source/source.h"
#include "util/error.h"

struct half {
  /* Set once. */
  struct source *source;
  struct image_ops image;

  /* Used by the thread whose turn it is: see reader-ranges.h. */
  struct extent extent;         /* the last extent */
  uint64_t start, end;          /* its offsets, bytes */
};

struct pair {
  struct source source;
  const struct source_options *options;
  size_t block_size;            /* bytes */
  struct half half[2];

  pthread_mutex_t lock;         /* protects the fields below */
  struct error error;           /* the first error, of half FAILED */
  unsigned failed;
};

/* ---- Errors ---- */

static int
half_failed (struct pair *pair, const struct half *half,
             const struct error *error)
{
  SCOPED_LOCK (&pair->lock);

  if (!error_is_set (&pair->error)) {
    pair->error = *error;
    pair->failed = half - pair->half;
  }
  return -1;
}

unsigned
pair_failed (const struct source *source)
{
  return ((const struct pair *) source)->failed;
}

/* ---- Extents ---- */

static int
find_extent (struct pair *pair, struct half *half, uint64_t offset,
             struct error *error)
{
  const struct image_ops *image = &half->image;
  struct extent extent = { 0 };

  if (offset < half->end)
    return 0;
  if (offset < image->size) {
    if (image->extent_at (image->opaque, offset, &extent, error) == -1)
      return half_failed (pair, half, error);
    extent.len = MIN (extent.len, image->size - offset);
  }
  else
    extent = (struct extent) {
      .len = UINT64_MAX - offset, .zero = true, .place[0].kind = PLACE_ZEROS
    };
  extent.place[0].zero = extent.zero;
  half->extent = extent;
  half->start = offset;
  half->end = offset + extent.len;
  return 0;
}

/* Returns the place of OFFSET, which is in the last extent of HALF. */
static struct place
place_at (const struct half *half, uint64_t offset)
{
  struct place place = half->extent.place[0];

  place_advance (&place, offset - half->start);
  return place;
}

static int
pair_extent_at (void *opaque, uint64_t offset, struct extent *extent,
                struct error *error)
{
  struct pair *pair = opaque;
  struct half *a = &pair->half[0], *b = &pair->half[1];

  if (find_extent (pair, a, offset, error) == -1 ||
      find_extent (pair, b, offset, error) == -1)
    return -1;
  *extent = (struct extent) {
    .len = MIN (a->end, b->end) - offset,
    .zero = a->extent.zero && b->extent.zero,
    .place = { place_at (a, offset), place_at (b, offset) },
  };
  return 0;
}

/* ---- Reads ---- */

/* Is RANGE known to be zero in half I?  It is rarely zero in both:
 * pair_extent_at reports such a range as zero, and the cursor returns it as
 * data only if it is a block that two zero extents share, the first of which is
 * too long to be joined.
 */
static bool
is_zero_in (const struct range *range, unsigned i)
{
  for (size_t n = 0; n < range->nr_extents; n++)
    if (!range->extents[n].place[i].zero)
      return false;
  return range->nr_extents > 0;
}

static int
read_half (struct pair *pair, unsigned i, const struct range *range,
           unsigned char *buf, struct error *error)
{
  const struct half *half = &pair->half[i];
  const struct image_ops *image = &half->image;
  struct range own = *range;
  uint64_t left = image->size > own.offset ? image->size - own.offset : 0;

  own.len = MIN (own.len, left);
  if (own.len > 0 && image_reader_read (image, &own, i, buf, error) == -1)
    return half_failed (pair, half, error);
  memset (buf + own.len, 0, range->len - own.len);
  first_bytes_set (&half->source->first, buf, own.len, own.offset);
  return 0;
}

/* Zero each block of A that is the same in B, and make the first byte of any
 * other block nonzero.
 */
static void
compare_blocks (unsigned char *a, const unsigned char *b, size_t len,
                size_t block_size)
{
  size_t at, n;

  for (at = 0; at < len; at += n) {
    n = MIN (block_size, len - at);
    if (memcmp (a + at, b + at, n) == 0)
      memset (a + at, 0, n);
    else
      a[at] = 1;
  }
}

static int
pair_read (void *opaque, const struct range *range, void *buf,
           struct error *error)
{
  struct pair *pair = opaque;
  size_t room = ROUND_UP (range->len, (uint64_t) READ_ALIGN);
  unsigned char *a = buf, *b = a + room;

  if (is_zero_in (range, 0))
    return read_half (pair, 1, range, buf, error);
  if (is_zero_in (range, 1))
    return read_half (pair, 0, range, buf, error);
  if (read_half (pair, 0, range, a, error) == -1 ||
      read_half (pair, 1, range, b, error) == -1)
    return -1;
  if (memcmp (a, b, range->len) == 0)
    return IMAGE_ZERO;
  compare_blocks (a, b, range->len, pair->block_size);
  return 0;
}

/* ---- The source ---- */

static int
pair_scan (struct source *source, struct scan *scan)
{
  struct pair *pair = (struct pair *) source;
  const struct image_ops image = {
    .size = source->size,
    .opaque = pair,
    .extent_at = pair_extent_at,
    .read = pair_read,
    .reads_two_images = true,
  };
  const struct image_ops *failed;

  if (image_reader_scan (&image, pair->options, scan) == 0)
    return 0;
  if (error_is_set (&pair->error)) {
    failed = &pair->half[pair->failed].image;
    scan->error = pair->error;
    if (failed->refine_error)
      failed->refine_error (failed->opaque, &scan->error);
  }
  return -1;
}

static int
pair_check_unchanged (struct source *source, struct error *error)
{
  struct pair *pair = (struct pair *) source;
  int i;

  for (i = 0; i < 2; i++)
    if (source_check_unchanged (pair->half[i].source, error) == -1)
      return half_failed (pair, &pair->half[i], error);
  return 0;
}

static void
pair_close (struct source *source)
{
  struct pair *pair = (struct pair *) source;

  pthread_mutex_destroy (&pair->lock);
  free (pair);
}

static const struct source_ops pair_ops = {
  .scan = pair_scan,
  .check_unchanged = pair_check_unchanged,
  .close = pair_close,
};

static bool
find_images (struct pair *pair)
{
  struct half *a = &pair->half[0], *b = &pair->half[1];

  return a->source->ops->image && b->source->ops->image &&
    a->source->ops->image (a->source, &a->image) &&
    b->source->ops->image (b->source, &b->image);
}

int
pair_open (const struct source_options *options, size_t block_size,
           struct source *const both[2], struct source **source)
{
  uint64_t size = MAX (both[0]->size, both[1]->size);
  struct pair *pair = malloc (sizeof *pair);

  if (!pair)
    return -1;
  *pair = (struct pair) {
    .source = {
      .ops = &pair_ops, .format = "pair", .size = size
    },
    .options = options,
    .block_size = block_size,
    .half = { { .source = both[0] }, { .source = both[1] } },
  };
  if (!find_images (pair)) {
    free (pair);
    errno = ENOTSUP;
    return -1;
  }
  pthread_mutex_init (&pair->lock, NULL);
  *source = &pair->source;
  return 0;
}
