/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "util/ranges.h"

static uint64_t
end_of (const struct ranges_item *range)
{
  return range->start + range->len;
}

/* ---- Adding ---- */

/* Join ranges that overlap or touch, and those with less than GAP bytes between
 * them.  The ranges are sorted by their start.
 */
static void
join (struct ranges *ranges, uint64_t gap)
{
  struct ranges_item *last = ranges->items;
  size_t i;

  for (i = 1; i < ranges->count; i++) {
    const struct ranges_item *next = &ranges->items[i];

    if (next->start > end_of (last) && next->start - end_of (last) >= gap)
      *++last = *next;
    else if (end_of (next) > end_of (last))
      last->len = end_of (next) - last->start;
  }
  if (ranges->count > 0)
    ranges->count = last - ranges->items + 1;
}

/* Make room for another range.  If there are RANGES_MAX ranges, join ranges
 * with small gaps between them, and set WIDENED.
 */
static int
make_room (struct ranges *ranges)
{
  size_t room = ranges->room > 0 ? 2 * ranges->room : 64;
  struct ranges_item *bigger;
  uint64_t gap;

  if (ranges->room == RANGES_MAX) {
    ranges_sort (ranges);
    for (gap = 4096; ranges->count > RANGES_MAX / 2; gap *= 2)
      join (ranges, gap);
    return 0;
  }
  bigger = realloc (ranges->items, room * sizeof *bigger);
  if (!bigger)
    return ENOMEM;
  ranges->items = bigger;
  ranges->room = room;
  return 0;
}

int
ranges_add (struct ranges *ranges, uint64_t start, uint64_t len)
{
  struct ranges_item *last;

  if (len > UINT64_MAX - start)
    return EOVERFLOW;
  if (len == 0)
    return 0;
  last = ranges->count > 0 ? &ranges->items[ranges->count - 1] : NULL;
  if (last && start == end_of (last)) {
    last->len += len;
    return 0;
  }
  if (ranges->count == ranges->room && make_room (ranges) != 0)
    return ENOMEM;
  ranges->items[ranges->count++] = (struct ranges_item) { start, len };
  return 0;
}

void
ranges_free (struct ranges *ranges)
{
  free (ranges->items);
  *ranges = (struct ranges) { 0 };
}

/* ---- Sorting ---- */

static int
compare (const void *a, const void *b)
{
  const struct ranges_item *x = a, *y = b;

  return x->start < y->start ? -1 : x->start > y->start;
}

void
ranges_sort (struct ranges *ranges)
{
  size_t i;

  /* Check first if the list is already sorted, as most lists are, because qsort
   * can allocate as much memory as the list takes.
   */
  for (i = 1; i < ranges->count; i++)
    if (ranges->items[i].start < ranges->items[i - 1].start) {
      qsort (ranges->items, ranges->count, sizeof *ranges->items, compare);
      break;
    }
  join (ranges, 0);
}

void
ranges_align (struct ranges *ranges, uint32_t block_size, uint64_t size)
{
  size_t i, count = 0;

  for (i = 0; i < ranges->count && ranges->items[i].start < size; i++) {
    struct ranges_item *range = &ranges->items[i];
    uint64_t end = end_of (range) < size ? end_of (range) : size;
    uint64_t rest = end % block_size;

    range->start -= range->start % block_size;
    if (rest > 0)
      end += block_size - rest < size - end ? block_size - rest : size - end;
    range->len = end - range->start;
    count++;
  }
  ranges->count = count;
  join (ranges, 0);
}

/* ---- Queries ---- */

bool
ranges_has (const struct ranges *ranges, uint64_t offset, uint64_t *len)
{
  size_t low = 0, high = ranges->count;
  const struct ranges_item *range;

  /* Find the first range that ends after OFFSET. */
  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (end_of (&ranges->items[middle]) <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == ranges->count) {
    *len = UINT64_MAX;
    return false;
  }
  range = &ranges->items[low];
  *len = (range->start <= offset ? end_of (range) : range->start) - offset;
  return range->start <= offset;
}

uint64_t
ranges_bytes (const struct ranges *ranges)
{
  uint64_t bytes = 0;
  size_t i;

  for (i = 0; i < ranges->count; i++)
    bytes += ranges->items[i].len;
  return bytes;
}
