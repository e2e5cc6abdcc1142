/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lib/common/text.h"
#include "../lib/common/util.h"
#include "util/ranges.h"

static uint64_t
end_of (const struct ranges_item *range)
{
  return range->start + range->len;
}

/* ---- Sorting ---- */

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
    uint64_t end = MIN (end_of (range), size);
    uint64_t rest = end % block_size;

    range->start -= range->start % block_size;
    if (rest > 0)
      end += MIN (block_size - rest, size - end);
    range->len = end - range->start;
    count++;
  }
  ranges->count = count;
  join (ranges, 0);
}

/* ---- Adding ---- */

/* Make room for another range.  If there are RANGES_MAX ranges, join ranges
 * with small gaps between them.  Returns 0 or ENOMEM.
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

/* ---- Queries ---- */

size_t
ranges_find (const struct ranges *ranges, uint64_t offset)
{
  size_t low = 0, high = ranges->count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (end_of (&ranges->items[middle]) <= offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
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

/* ---- Parts ---- */

/* Parse a decimal number before END.  Returns the text after END, or NULL. */
static const char *
parse_number (const char *text, char end, uint32_t *number)
{
  uint64_t value;
  const char *rest = number_parse (text, &value);

  if (!rest || *rest != end || value > PART_MAX)
    return NULL;
  *number = value;
  return rest + 1;
}

int
part_parse (struct part *part, const char *text)
{
  text = parse_number (text, '/', &part->i);
  if (text)
    text = parse_number (text, '\0', &part->n);
  return text && part->i < part->n ? 0 : -1;
}

/* Returns UNITS * I / N, rounded down. */
static uint64_t
share (uint64_t units, uint32_t i, uint32_t n)
{
  return units / n * i + units % n * i / n;
}

void
part_blocks (const struct part *part, uint64_t size, uint32_t block_size,
             uint64_t *first, uint64_t *count)
{
  uint64_t blocks = DIV_ROUND_UP (size, block_size);
  uint64_t unit = size / PART_UNIT >= part->n ? PART_UNIT : block_size;
  uint64_t units = DIV_ROUND_UP (size, unit), end;

  *first = share (units, part->i, part->n) * (unit / block_size);
  end = share (units, part->i + 1, part->n) * (unit / block_size);
  *count = MIN (end, blocks) - *first;
}

uint64_t
part_offset (uint64_t block, uint64_t size, uint32_t block_size)
{
  return block > size / block_size ? size : block * block_size;
}

void
part_describe (const struct part *part, uint64_t bytes, uint64_t size,
               char text[PART_TEXT_SIZE])
{
  static const char *const units[] = { "bytes", "KiB", "MiB", "GiB" };
  unsigned i = 0;

  while (i < 3 && size > 0 && bytes % 1024 == 0 && size % 1024 == 0) {
    bytes /= 1024;
    size /= 1024;
    i++;
  }
  snprintf (text, PART_TEXT_SIZE,
            "part %" PRIu32 "/%" PRIu32 ": %" PRIu64 " of %" PRIu64 " %s",
            part->i, part->n, bytes, size, units[i]);
}

char *
part_path (const struct part *part, const char *dir)
{
  char *path;

  if (asprintf (&path, "%s/part-%06" PRIu32 "-of-%06" PRIu32 ".blkm", dir,
                part->i, part->n) == -1)
    return NULL;
  return path;
}

/* ---- The audit sample ---- */

static uint64_t
units (const struct audit_sample *sample, uint64_t len)
{
  return DIV_ROUND_UP (len, sample->unit);
}

static int
count_before (struct audit_sample *sample)
{
  const struct ranges *unknown = sample->unknown;
  uint64_t sum = 0;
  size_t i;

  sample->before = calloc (unknown->count + 1, sizeof *sample->before);
  if (!sample->before)
    return ENOMEM;
  for (i = 0; i < unknown->count; i++) {
    sample->before[i] = sum;
    sum += units (sample, unknown->items[i].len);
  }
  sample->before[i] = sum;
  return 0;
}

int
audit_sample_init (struct audit_sample *sample, uint64_t size,
                   uint32_t block_size, struct ranges *unknown,
                   uint32_t audit, uint64_t seed)
{
  *sample = (struct audit_sample) {
    .size = size,
    .unit = MAX (block_size, STRATA_READ_UNIT),
    .unknown = unknown,
  };
  ranges_align (unknown, sample->unit, size);
  if (count_before (sample) != 0)
    return ENOMEM;
  strata_init (&sample->trusted,
               units (sample, size) - sample->before[unknown->count], audit,
               seed);
  return 0;
}

void
audit_sample_destroy (struct audit_sample *sample)
{
  free (sample->before);
}

uint64_t
audit_sample_bytes (const struct audit_sample *sample)
{
  uint64_t unknown = ranges_bytes (sample->unknown);
  uint64_t rest = sample->size - unknown;

  return unknown + (sample->trusted.chosen <= rest / sample->unit
                    ? sample->trusted.chosen * sample->unit : rest);
}

enum sample_class
audit_sample_at (const struct audit_sample *sample, uint64_t offset,
                 uint64_t *len)
{
  const struct ranges *unknown = sample->unknown;
  size_t i = ranges_find (unknown, offset);
  uint64_t unit = offset / sample->unit, count, same;
  bool audited;

  *len = UINT64_MAX - offset;
  if (i < unknown->count) {
    const struct ranges_item *range = &unknown->items[i];

    if (range->start <= offset) {
      *len = end_of (range) - offset;
      return SAMPLE_UNKNOWN;
    }
    *len = range->start - offset;
  }
  if (sample->trusted.chosen == 0 || offset >= sample->size)
    return SAMPLE_TRUSTED;
  audited = strata_at (&sample->trusted, unit - sample->before[i], &count);
  same = count * sample->unit - offset % sample->unit;
  *len = MIN (*len, same);
  return audited ? SAMPLE_AUDITED : SAMPLE_TRUSTED;
}

/* ---- Selections ---- */

/* The alignment of reads in bytes, unless the block size is larger.  No NBD
 * server requires a larger alignment, and neither does direct I/O.
 */
#define ALIGNMENT ((uint64_t) 64 * 1024)

#define MAX_JOINED (32 * 1024 * 1024) /* bytes; no source reads more at once */

struct selection
selection_of_blocks (uint64_t first, uint64_t count, uint64_t size,
                     uint32_t block_size)
{
  uint64_t start = part_offset (first, size, block_size);
  uint64_t end = part_offset (first + count, size, block_size);
  uint64_t more = -end & (ALIGNMENT - 1);

  if (count > 0) {
    start = ROUND_DOWN (start, ALIGNMENT);
    end += MIN (more, size - end);
  }
  return (struct selection) { .start = start, .end = end };
}

static bool
is_read (const struct audit_sample *sample, uint64_t offset, uint64_t *len)
{
  return audit_sample_at (sample, offset, len) != SAMPLE_TRUSTED;
}

bool
selection_has (const struct selection *selection, uint64_t offset,
               uint64_t *len)
{
  uint64_t start = selection->start, end = selection->end, same, more;
  bool before = offset < start, in = !before && offset < end, selected;

  *len = (before ? start : in ? end : UINT64_MAX) - offset;
  if (!in || !selection->sample)
    return in;
  selected = is_read (selection->sample, offset, &same);
  while (same < MIN (*len, MAX_JOINED) &&
         is_read (selection->sample, offset + same, &more) == selected)
    same += more;
  *len = MIN (*len, same);
  return selected;
}
