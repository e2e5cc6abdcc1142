/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A zero range consists of the whole blocks within a zero extent.  A block that
 * is only partly in the extent is read, together with the data next to it.
 */

#include <config.h>

#include "../lib/common/util.h"
#include "read/cursor.h"
#include "util/error.h"

/* Adjacent zero extents are joined until they have this number of bytes, so
 * that a block that two of them share is not read.  A longer extent is returned
 * immediately.
 */
#define JOIN_LIMIT (16 * 1024 * 1024)

static uint64_t
round_up (uint64_t n, uint64_t align)
{
  uint64_t rounded = ROUND_UP (n, align);

  return rounded < n ? ROUND_DOWN (UINT64_MAX, align) : rounded;
}

void
cursor_start (struct cursor *cursor, uint64_t align, uint64_t max_read)
{
  cursor->align = align;
  cursor->max_read = max_read < align ? align : round_up (max_read, align);
  cursor->offset = cursor->end = cursor->extent_end = 0;
  cursor->is_short = false;
  cursor->lookahead.len = 0;
}

static int
fetch_extent (struct cursor *cursor, uint64_t offset, struct extent *extent,
              struct error *error)
{
  if (!cursor->extent_at || cursor->is_short) {
    extent->len = (cursor->is_short ? cursor->end : cursor->size) - offset;
    extent->zero = false;
    return 0;
  }
  if (cursor->extent_at (cursor->extent_opaque, offset, extent, error) == -1)
    return -1;
  if (extent->len == 0)
    return error_set (error, "an empty extent at offset %llu",
                      (unsigned long long) offset);
  if (extent->len > cursor->size - offset)
    extent->len = cursor->size - offset;
  return 0;
}

/* Join the zero extents that follow the current one.  The length for JOIN_LIMIT
 * is counted from START.
 */
static int
join_zeros (struct cursor *cursor, uint64_t start, struct error *error)
{
  while (cursor->extent_zero && cursor->lookahead.len == 0 &&
         cursor->extent_end < cursor->end &&
         cursor->extent_end - start < JOIN_LIMIT) {
    struct extent extent;

    if (fetch_extent (cursor, cursor->extent_end, &extent, error) == -1)
      return -1;
    if (extent.zero)
      cursor->extent_end += extent.len;
    else
      cursor->lookahead = extent;
  }
  return 0;
}

/* Advance to the next extent. */
static int
next_extent (struct cursor *cursor, struct error *error)
{
  uint64_t start = cursor->extent_end;
  struct extent extent = cursor->lookahead;

  cursor->lookahead.len = 0;
  if (extent.len == 0 && fetch_extent (cursor, start, &extent, error) == -1)
    return -1;
  cursor->extent_end = start + extent.len;
  cursor->extent_zero = extent.zero;
  return join_zeros (cursor, start, error);
}

/* Returns the end of the last whole block in the current extent.  The end of
 * the missing range counts as the end of a block.
 */
static uint64_t
extent_whole_end (const struct cursor *cursor)
{
  return cursor->extent_end >= cursor->end
    ? cursor->end : ROUND_DOWN (cursor->extent_end, cursor->align);
}

/* Find the end of the data that starts at the cursor.  Data ends before the
 * first whole block that is zero, and at LIMIT at the latest.
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
      *end = MIN (start, limit);
      return 0;
    }
  }
  *end = limit;
  return 0;
}

/* Round END up to whole blocks, but not beyond the end of the image. */
static uint64_t
whole_end (const struct cursor *cursor, uint64_t end)
{
  uint64_t more = -end & (cursor->align - 1);

  return more < cursor->size - end ? end + more : cursor->size;
}

/* Should the missing range be read without a query for its extents?  With
 * SKIP_SHORT_QUERIES it is, if one read covers the range, and the range is not
 * the whole image.
 */
static bool
is_short (const struct cursor *cursor)
{
  uint64_t len = cursor->end - cursor->offset;

  return cursor->skip_short_queries && len <= cursor->max_read &&
    len < cursor->size;
}

/* Advance to the next missing range, in whole blocks.  Returns the same as
 * cursor_next.
 */
static int
next_missing_range (struct cursor *cursor, struct error *error)
{
  uint64_t start = cursor->end, len = cursor->size - start;
  int r = len > 0;

  if (r == 1 && cursor->missing_at)
    r = cursor->missing_at (cursor->missing_opaque, cursor->end, &start, &len,
                            error);
  if (r != 1)
    return r;
  if (len > cursor->size - start)
    len = cursor->size - start;
  cursor->end = whole_end (cursor, start + len);
  cursor->offset = ROUND_DOWN (start, cursor->align);
  cursor->is_short = is_short (cursor);
  if (cursor->extent_end < cursor->offset) {
    cursor->extent_end = cursor->offset;
    cursor->extent_zero = false;
    cursor->lookahead.len = 0;
    return 1;
  }
  return join_zeros (cursor, cursor->offset, error) == -1 ? -1 : 1;
}

/* Set RANGE to the LEN bytes at the cursor, and advance the cursor. */
static int
emit (struct cursor *cursor, uint64_t len, bool zero, struct range *range)
{
  *range = (struct range) {
    .offset = cursor->offset, .len = len, .zero = zero
  };
  cursor->offset += len;
  return 1;
}

int
cursor_next (struct cursor *cursor, struct range *range, struct error *error)
{
  uint64_t left, end;
  int r;

  while (cursor->offset == cursor->end)
    if ((r = next_missing_range (cursor, error)) != 1)
      return r;
  while (cursor->extent_end <= cursor->offset)
    if (next_extent (cursor, error) == -1)
      return -1;

  end = extent_whole_end (cursor);
  if (cursor->extent_zero && end > cursor->offset)
    return emit (cursor, end - cursor->offset, true, range);

  left = cursor->end - cursor->offset;
  if (left > cursor->max_read)
    left = cursor->max_read;
  if (find_data_end (cursor, cursor->offset + left, &end, error) == -1)
    return -1;
  return emit (cursor, end - cursor->offset, false, range);
}
