/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A walk over an image from its start to its end.
 *
 * A zero extent counts from the first to the last whole block in it; what
 * sticks out at its ends is read with its neighbours.
 */

#include <config.h>

#include "read/cursor.h"
#include "util/error.h"

/* Short zero extents are joined, so that two halves of a block are seen to be
 * zero.  A long one is handed out at once.
 */
#define JOIN_LIMIT (16 * 1024 * 1024)

static uint64_t
round_up (uint64_t n, uint64_t align)
{
  uint64_t rounded = (n + align - 1) & ~(align - 1);

  return rounded < n ? UINT64_MAX & ~(align - 1) : rounded;
}

static uint64_t
round_down (uint64_t n, uint64_t align)
{
  return n & ~(align - 1);
}

void
cursor_init (struct cursor *cursor, uint64_t size, uint64_t align,
             uint64_t max_read, extent_function extent_at, void *opaque)
{
  *cursor = (struct cursor) {
    .size = size,
    .align = align,
    .max_read = max_read < align ? align : round_up (max_read, align),
    .extent_at = extent_at,
    .opaque = opaque,
  };
}

static int
fetch (struct cursor *cursor, uint64_t offset, struct extent *extent,
       struct error *error)
{
  if (!cursor->extent_at) {
    extent->len = cursor->size - offset;
    extent->zero = false;
    return 0;
  }
  if (cursor->extent_at (cursor->opaque, offset, extent, error) == -1)
    return -1;
  if (extent->len == 0)
    return error_set (error, "an empty extent at offset %llu",
                      (unsigned long long) offset);
  if (extent->len > cursor->size - offset)
    extent->len = cursor->size - offset;
  return 0;
}

/* Step to the extent behind the current one. */
static int
next_extent (struct cursor *cursor, struct error *error)
{
  uint64_t start = cursor->extent_end;
  struct extent extent = cursor->ahead;

  cursor->ahead.len = 0;
  if (extent.len == 0 && fetch (cursor, start, &extent, error) == -1)
    return -1;
  cursor->extent_end = start + extent.len;
  cursor->extent_zero = extent.zero;

  while (cursor->extent_zero && cursor->extent_end < cursor->size &&
         cursor->extent_end - start < JOIN_LIMIT) {
    if (fetch (cursor, cursor->extent_end, &extent, error) == -1)
      return -1;
    if (!extent.zero) {
      cursor->ahead = extent;
      break;
    }
    cursor->extent_end += extent.len;
  }
  return 0;
}

/* The end of the last whole block before the end of the current extent; the
 * end of the image ends a block too.
 */
static uint64_t
extent_whole_end (const struct cursor *cursor)
{
  return cursor->extent_end == cursor->size
    ? cursor->size : round_down (cursor->extent_end, cursor->align);
}

/* Where data that starts at the cursor ends: before the first whole block that
 * is zero, and at LIMIT at the latest.
 */
static int
find_data_end (struct cursor *cursor, uint64_t limit, uint64_t *end,
               struct error *error)
{
  for (;;) {
    uint64_t start = cursor->extent_end;

    if (start >= limit)
      break;
    if (next_extent (cursor, error) == -1)
      return -1;
    start = round_up (start, cursor->align);
    if (cursor->extent_zero && extent_whole_end (cursor) > start) {
      *end = start < limit ? start : limit;
      return 0;
    }
  }
  *end = limit;
  return 0;
}

int
cursor_next (struct cursor *cursor, struct range *range, struct error *error)
{
  uint64_t end;

  if (cursor->offset == cursor->size)
    return 0;
  while (cursor->extent_end <= cursor->offset)
    if (next_extent (cursor, error) == -1)
      return -1;

  range->offset = cursor->offset;
  range->zero = cursor->extent_zero &&
    extent_whole_end (cursor) > cursor->offset;
  if (range->zero)
    end = extent_whole_end (cursor);
  else {
    uint64_t left = cursor->size - cursor->offset;
    uint64_t limit = cursor->offset +
      (left < cursor->max_read ? left : cursor->max_read);

    if (find_data_end (cursor, limit, &end, error) == -1)
      return -1;
  }
  range->len = end - cursor->offset;
  cursor->offset = end;
  return 1;
}
