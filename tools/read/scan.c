/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A scan request: fill a leaf table from an image.
 */

#include <config.h>

#include <errno.h>

#include "blkhash.h"

#include "../lib/common/cleanup.h"
#include "../lib/common/zero.h"
#include "read/scan.h"
#include "util/progress.h"

#define SEARCH_UNIT (64 * 1024) /* bytes: alignment of ranges to search */

void
fill_init (struct fill *fill, struct blkhash_leaves *leaves,
           size_t block_size)
{
  *fill = (struct fill) {
    .leaves = leaves, .block_size = block_size, .to = UINT64_MAX
  };
  pthread_mutex_init (&fill->lock, NULL);
}

void
fill_init_search (struct fill *fill, uint64_t from)
{
  fill_init (fill, NULL, SEARCH_UNIT);
  fill->from = from;
}

void
fill_destroy (struct fill *fill)
{
  pthread_mutex_destroy (&fill->lock);
}

/* ---- Data ---- */

/* Returns the number of zero bytes at the start of the LEN bytes of BUF. */
static size_t
count_zeros (const unsigned char *buf, size_t len)
{
  const size_t step = 4096;
  size_t i = 0;

  while (len - i > step && is_zero (buf + i, step))
    i += step;
  while (i < len && buf[i] == 0)
    i++;
  return i;
}

/* Search the LEN bytes of BUF for data.  Whole blocks are read, so these can
 * begin before FROM.
 */
static void
look_at (struct fill *fill, const unsigned char *buf, size_t len,
         uint64_t offset)
{
  uint64_t skip = offset < fill->from ? fill->from - offset : 0;
  size_t at;

  if (skip >= len)
    return;
  at = skip + count_zeros (buf + skip, len - skip);
  if (at == len)
    return;

  SCOPED_LOCK (&fill->lock);
  if (fill->to > offset + at)
    fill->to = offset + at;
}

int
fill_data (struct fill *fill, const void *buf, size_t len, uint64_t offset)
{
  if (fill->leaves)
    return blkhash_leaves_data (fill->leaves, buf, len, offset);
  look_at (fill, buf, len, offset);
  return 0;
}

int
fill_zero (struct fill *fill, uint64_t len, uint64_t offset)
{
  return fill->leaves ? blkhash_leaves_zero (fill->leaves, len, offset) : 0;
}

int
fill_set_size (struct fill *fill, uint64_t size)
{
  uint64_t full = fill->table_size
    ? fill->table_size (fill->table_size_opaque, size) : size;
  int err = blkhash_leaves_set_size (fill->leaves, full);

  return err ? err : blkhash_leaves_zero (fill->leaves, full - size, size);
}

size_t
fill_batch (const struct fill *fill)
{
  return fill->leaves ? blkhash_leaves_batch (fill->leaves) : SEARCH_UNIT;
}

bool
fill_ends_before (struct fill *fill, uint64_t offset)
{
  SCOPED_LOCK (&fill->lock);

  return offset >= fill->to;
}

/* ---- Progress and errors ---- */

void
fill_advance (struct fill *fill, uint64_t len, bool hole)
{
  {
    SCOPED_LOCK (&fill->lock);

    *(hole ? &fill->hole : &fill->read) += len;
  }
  progress_add (fill->progress, len);
}

bool
fill_fail (struct fill *fill, const struct error *error)
{
  SCOPED_LOCK (&fill->lock);

  if (error_is_set (&fill->error))
    return false;
  fill->error = *error;
  return true;
}

bool
fill_has_failed (struct fill *fill)
{
  if (fill->stopped && fill->stopped (fill->stopped_opaque))
    return true;

  SCOPED_LOCK (&fill->lock);

  return error_is_set (&fill->error);
}

/* Find the next range that is missing in the table.  Without a table, all of
 * the image is missing.
 */
static int
next_missing (struct fill *fill, uint64_t offset, uint64_t *start,
              uint64_t *len)
{
  if (fill->leaves)
    return blkhash_leaves_next_missing (fill->leaves, offset, start, len);
  *start = offset;
  *len = UINT64_MAX - offset;
  return 0;
}

/* Find the next missing range that is wanted.  Missing ranges before it are set
 * to zero.
 */
static int
next_wanted (struct fill *fill, uint64_t offset, uint64_t *start,
             uint64_t *len)
{
  for (;;) {
    int err = next_missing (fill, offset, start, len);
    uint64_t same;
    bool wanted;

    if (err || !fill->wanted)
      return err;
    wanted = fill->wanted (fill->wanted_opaque, *start, &same);
    if (*len > same)
      *len = same;
    if (wanted)
      return 0;
    err = fill_zero (fill, *len, *start);
    if (err)
      return err;
    offset = *start + *len;
  }
}

int
fill_missing_at (void *opaque, uint64_t offset, uint64_t *start,
                 uint64_t *len, struct error *error)
{
  struct fill *fill = opaque;
  int err;

  if (offset < fill->from)
    offset = fill->from;
  err = next_wanted (fill, offset, start, len);
  if (err && err != ENOENT)
    return error_errno (error, err, "cannot hash");

  SCOPED_LOCK (&fill->lock);
  if (err || *start >= fill->to)
    return 0;
  if (*len > fill->to - *start)
    *len = fill->to - *start;
  return 1;
}
