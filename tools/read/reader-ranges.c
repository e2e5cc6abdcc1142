/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "io/file-read.h"
#include "read/reader-ranges.h"
#include "read/scan.h"
#include "util/error.h"
#include "util/extent.h"

/* ---- The cursor ---------------------------------------------------------- */

/* A zero range consists of the whole blocks within a zero extent.  A block that
 * is only partly in the extent is read, together with the data next to it.
 */

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
  cursor->found.count = 0;
}

void
cursor_stop (struct cursor *cursor)
{
  free (cursor->found.extents);
}

/* ---- Places ---- */

static int
no_memory (struct error *error)
{
  return error_errno (error, ENOMEM, "cannot read");
}

/* Make room for one more extent. */
static int
grow (struct found_extents *found, struct error *error)
{
  size_t max = found->max > 0 ? 2 * found->max : 16;
  struct extent *extents;

  if (found->count < found->max)
    return 0;
  extents = realloc (found->extents, max * sizeof *extents);
  if (!extents)
    return no_memory (error);
  found->extents = extents;
  found->max = max;
  return 0;
}

/* Can EXTENT be added to LAST, which is directly before it? */
static bool
continues (const struct extent *last, const struct extent *extent)
{
  for (int i = 0; i < 2; i++)
    if (last->place[i].zero != extent->place[i].zero ||
        !place_continues (&last->place[i], last->len, &extent->place[i]))
      return false;
  return true;
}

/* Add EXTENT, which was found at OFFSET.  If extents before it were skipped,
 * those before the gap are not needed any more.
 */
static int
keep_extent (struct found_extents *found, uint64_t offset,
             const struct extent *extent, struct error *error)
{
  if (offset != found->end)
    found->count = 0;
  if (found->count > 0) {
    struct extent *last = &found->extents[found->count - 1];

    if (continues (last, extent)) {
      last->len += extent->len;
      last->zero = last->zero && extent->zero;
      found->end += extent->len;
      return 0;
    }
  }
  else
    found->start = offset;
  if (grow (found, error) == -1)
    return -1;
  found->extents[found->count++] = *extent;
  found->end = offset + extent->len;
  return 0;
}

/* Remove all before OFFSET.  It is not before the start, and not after the end,
 * unless all were skipped.
 */
static void
forget_before (struct found_extents *found, uint64_t offset)
{
  size_t n = 0;

  while (n < found->count &&
         found->extents[n].len <= offset - found->start)
    found->start += found->extents[n++].len;
  found->count -= n;
  if (n > 0)
    memmove (found->extents, found->extents + n,
             found->count * sizeof *found->extents);
  if (found->count > 0 && found->start < offset) {
    struct extent *first = &found->extents[0];
    uint64_t skip = offset - found->start;

    first->len -= skip;
    for (int i = 0; i < 2; i++)
      place_advance (&first->place[i], skip);
    found->start = offset;
  }
}

/* Returns the number of extents of the LEN bytes at the start. */
static size_t
count_extents (const struct found_extents *found, uint64_t len)
{
  size_t n = 0;

  for (uint64_t done = 0; done < len && n < found->count; n++)
    done += found->extents[n].len;
  return n;
}

/* Give RANGE, which starts where the extents do, a copy of its extents.  The
 * last one can end after the range.
 */
static int
set_extents (struct found_extents *found, struct range *range,
             struct error *error)
{
  range->nr_extents = count_extents (found, range->len);
  if (range->nr_extents == 0)
    return 0;
  range->extents = malloc (range->nr_extents * sizeof *range->extents);
  if (!range->extents)
    return no_memory (error);
  memcpy (range->extents, found->extents,
          range->nr_extents * sizeof *range->extents);
  return 0;
}

/* ---- Extents ---- */

static int
fetch_extent (struct cursor *cursor, uint64_t offset, struct extent *extent,
              struct error *error)
{
  *extent = (struct extent) { 0 };
  if (!cursor->extent_at || cursor->is_short) {
    extent->len = (cursor->is_short ? cursor->end : cursor->size) - offset;
    return 0;
  }
  if (cursor->extent_at (cursor->extent_opaque, offset, extent, error) == -1)
    return -1;
  if (extent->len == 0)
    return error_set (error, "an empty extent at offset %" PRIu64, offset);
  if (extent->len > cursor->size - offset)
    extent->len = cursor->size - offset;
  return cursor->keep_places
    ? keep_extent (&cursor->found, offset, extent, error) : 0;
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

/* Advance to the next missing range, in whole blocks. */
static enum next_range
next_missing_range (struct cursor *cursor, struct error *error)
{
  uint64_t start = cursor->end, len = cursor->size - start;
  enum next_range next = len > 0 ? NEXT_FOUND : NEXT_END;

  if (len > 0 && cursor->missing_at)
    next = cursor->missing_at (cursor->missing_opaque, cursor->end, &start,
                               &len, error);
  if (next != NEXT_FOUND)
    return next;
  if (len > cursor->size - start)
    len = cursor->size - start;
  cursor->end = whole_end (cursor, start + len);
  cursor->offset = ROUND_DOWN (start, cursor->align);
  cursor->is_short = is_short (cursor);
  if (cursor->extent_end < cursor->offset) {
    cursor->extent_end = cursor->offset;
    cursor->extent_zero = false;
    cursor->lookahead.len = 0;
    return NEXT_FOUND;
  }
  return join_zeros (cursor, cursor->offset, error) == -1 ? NEXT_ERROR
                                                          : NEXT_FOUND;
}

/* Set RANGE to the LEN bytes at the cursor, and advance the cursor. */
static enum next_range
emit (struct cursor *cursor, uint64_t len, bool zero, struct range *range,
      struct error *error)
{
  *range = (struct range) {
    .offset = cursor->offset, .len = len, .zero = zero
  };
  forget_before (&cursor->found, range->offset);
  if (!zero && set_extents (&cursor->found, range, error) == -1)
    return NEXT_ERROR;
  cursor->offset += len;
  return NEXT_FOUND;
}

enum next_range
cursor_next (struct cursor *cursor, struct range *range, struct error *error)
{
  uint64_t left, end;
  enum next_range next;

  while (cursor->offset == cursor->end)
    if ((next = next_missing_range (cursor, error)) != NEXT_FOUND)
      return next;
  while (cursor->extent_end <= cursor->offset)
    if (next_extent (cursor, error) == -1)
      return NEXT_ERROR;

  end = extent_whole_end (cursor);
  if (cursor->extent_zero && end > cursor->offset)
    return emit (cursor, end - cursor->offset, true, range, error);

  left = cursor->end - cursor->offset;
  if (left > cursor->max_read)
    left = cursor->max_read;
  if (find_data_end (cursor, cursor->offset + left, &end, error) == -1)
    return NEXT_ERROR;
  return emit (cursor, end - cursor->offset, false, range, error);
}

/* ---- The window ---------------------------------------------------------- */

#define WINDOW_SIZE UINT64_C (6 * 1024 * 1024) /* bytes of memory for leaves */
#define LEAF_COST 80            /* bytes: the longest leaf, and its share of a
                                 * node of the leaf table's tree */
#define RANGE_COST 4096         /* bytes: nodes of the tree without leaves */

void
window_init (struct window *window, uint64_t block_size)
{
  *window = (struct window) { .block_size = block_size };
}

uint64_t
window_max_range (const struct window *window, unsigned count)
{
  uint64_t blocks = WINDOW_SIZE / LEAF_COST / count;

  return (blocks > 0 ? blocks : 1) * window->block_size;
}

bool
window_is_open (const struct window *window)
{
  return !window->first || window->taken - window->first->start < WINDOW_SIZE;
}

void
window_take (struct window *window, struct window_item *item,
             const struct range *range)
{
  item->offset = range->offset;
  item->start = window->taken;
  item->prev = window->last;
  item->next = NULL;
  if (window->last)
    window->last->next = item;
  else
    window->first = item;
  window->last = item;

  window->taken += RANGE_COST;
  if (!range->zero)
    window->taken += range->len / window->block_size * LEAF_COST;
}

void
window_move (struct window *window, struct window_item *from,
             struct window_item *to)
{
  *to = *from;
  *(to->prev ? &to->prev->next : &window->first) = to;
  *(to->next ? &to->next->prev : &window->last) = to;
}

void
window_done (struct window *window, struct window_item *item)
{
  *(item->prev ? &item->prev->next : &window->first) = item->next;
  *(item->next ? &item->next->prev : &window->last) = item->prev;
}

/* ---- Ranges for many threads --------------------------------------------- */

#define ZERO_STEPS 256          /* maximum number of steps to add a hole */
#define MIN_ZEROS 65536         /* minimum number of blocks in a step, except
                                 * for the last one */
#define MAX_JOINED_ZEROS 4096   /* maximum number of zero blocks between and
                                 * after all joined ranges: other threads wait
                                 * while these blocks are added */

void
reader_ranges_init (struct reader_ranges *ranges, struct scan *scan,
                    const struct cursor *cursor,
                    next_range_function next_range)
{
  *ranges = (struct reader_ranges) {
    .scan = scan, .cursor = *cursor, .next_range = next_range
  };
  window_init (&ranges->window, scan->block_size);
  pthread_mutex_init (&ranges->turn, NULL);
  pthread_mutex_init (&ranges->lock, NULL);
  pthread_cond_init (&ranges->has_advanced, NULL);
}

void
reader_ranges_destroy (struct reader_ranges *ranges)
{
  if (ranges->pending == NEXT_FOUND)
    free (ranges->pending_range.extents);
  cursor_stop (&ranges->cursor);
  pthread_cond_destroy (&ranges->has_advanced);
  pthread_mutex_destroy (&ranges->lock);
  pthread_mutex_destroy (&ranges->turn);
}

static void
wait_locked (struct reader_ranges *ranges)
{
  while (!window_is_open (&ranges->window) && !ranges->stopped)
    pthread_cond_wait (&ranges->has_advanced, &ranges->lock);
}

void
reader_ranges_wait (struct reader_ranges *ranges)
{
  SCOPED_LOCK (&ranges->lock);

  wait_locked (ranges);
}

enum can_take {
  CAN_TAKE,                     /* a range may be taken */
  CAN_TAKE_LATER,               /* ranges must be hashed first */
  CAN_TAKE_NONE,                /* the reader was stopped */
};

/* With WAIT, the result is not CAN_TAKE_LATER. */
static enum can_take
can_take (struct reader_ranges *ranges, bool wait)
{
  SCOPED_LOCK (&ranges->lock);

  if (wait)
    wait_locked (ranges);
  if (ranges->stopped)
    return CAN_TAKE_NONE;
  return window_is_open (&ranges->window) ? CAN_TAKE : CAN_TAKE_LATER;
}

/* ---- Ranges ---- */

static void
enter_window (struct reader_ranges *ranges, struct taken_range *range)
{
  SCOPED_LOCK (&ranges->lock);

  window_take (&ranges->window, &range->item, &range->range);
}

static enum next_range
find_range (struct reader_ranges *ranges, void *opaque, struct range *range,
            struct error *error)
{
  return ranges->next_range ? ranges->next_range (opaque, range, error)
                            : cursor_next (&ranges->cursor, range, error);
}

static enum next_range
find_or_pending (struct reader_ranges *ranges, void *opaque,
                 struct range *range, struct error *error)
{
  enum next_range pending = ranges->pending;

  if (pending == NEXT_END)
    return find_range (ranges, opaque, range, error);
  ranges->pending = NEXT_END;
  *range = ranges->pending_range;
  if (pending == NEXT_ERROR)
    *error = ranges->pending_error;
  return pending;
}

/* Take the next range, data or zero.  The caller holds TURN.  Returns the same
 * as reader_ranges_next if WAIT is set; otherwise the same as
 * reader_ranges_try_next.
 */
static enum next_range
take (struct reader_ranges *ranges, void *opaque, bool wait,
      struct taken_range *range, struct error *error)
{
  enum next_range next;
  enum can_take can;

  range->range.len = 0;
  can = can_take (ranges, wait);
  if (can != CAN_TAKE)
    return can == CAN_TAKE_LATER ? NEXT_FOUND : NEXT_END;
  next = find_or_pending (ranges, opaque, &range->range, error);
  if (next == NEXT_FOUND)
    enter_window (ranges, range);
  if (next == NEXT_END) {
    SCOPED_LOCK (&ranges->lock);

    ranges->ended = true;
  }
  return next;
}

static void
leave_window (struct reader_ranges *ranges, struct taken_range *range)
{
  SCOPED_LOCK (&ranges->lock);
  bool was_open = window_is_open (&ranges->window);

  window_done (&ranges->window, &range->item);
  if (!was_open)
    pthread_cond_broadcast (&ranges->has_advanced);
}

/* Returns how many bytes of RANGE to add in one step.  Hashing a large hole
 * takes long, so it is divided to show progress.
 */
static uint64_t
zeros_step (const struct reader_ranges *ranges, const struct range *range)
{
  uint64_t block_size = ranges->scan->block_size;
  uint64_t blocks = range->len / block_size / ZERO_STEPS + 1;

  return block_size * (blocks > MIN_ZEROS ? blocks : MIN_ZEROS);
}

static int
add_zeros (struct reader_ranges *ranges, struct range range,
           struct error *error)
{
  uint64_t start = range.offset, step = zeros_step (ranges, &range);
  int err = 0;

  while (range.len > 0 && err == 0) {
    uint64_t len = MIN (range.len, step);

    err = scan_add_zero (ranges->scan, len, range.offset);
    scan_count (ranges->scan, len, true);
    range.offset += len;
    range.len -= len;
  }
  if (err) {
    error_errno (error, err, "cannot hash at offset %" PRIu64, start);
    /* Fail before the range leaves the window: after that,
     * reader_ranges_is_done counts it as hashed.
     */
    scan_fail (ranges->scan, error);
  }
  return err ? -1 : 0;
}

/* ---- Joined ranges ---- */

struct joined {
  struct taken_range *ranges;
  unsigned count, max;          /* number of ranges */
  uint64_t len, max_len;        /* bytes of all ranges */
  uint64_t zeros;               /* bytes of zeros between and after the
                                 * ranges */
};

/* Is all of RANGE in whole pages of one file, without gaps? */
static bool
is_contiguous (const struct range *range)
{
  const struct place *place;

  if (range->nr_extents != 1)
    return false;
  place = &range->extents[0].place[0];
  return place->kind == PLACE_FILE && place->host % READ_ALIGN == 0 &&
    range->len % READ_ALIGN == 0;
}

/* Can one read return FIRST directly followed by SECOND?  Both are data. */
static bool
adjoins (const struct range *first, const struct range *second)
{
  return is_contiguous (first) && is_contiguous (second) &&
    place_continues (&first->extents[0].place[0], first->len,
                     &second->extents[0].place[0]);
}

/* RANGE is the next range, data or zero.  Can it be taken together with JOINED?
 */
static bool
can_join (struct reader_ranges *ranges, const struct joined *joined,
          const struct range *range)
{
  const struct range *last = &joined->ranges[joined->count - 1].range;

  if (range->zero)
    return joined->zeros + range->len <=
      MAX_JOINED_ZEROS * ranges->scan->block_size;
  return joined->len + range->len <= joined->max_len && adjoins (last, range);
}

/* Take the next range too, if can_join accepts it.  Returns true if it was
 * taken; otherwise the range or the error is pending.  The end is not: the next
 * search finds it again.  Zeros do not enter the window, because the range
 * before them is still in it.
 */
static bool
join_next (struct reader_ranges *ranges, void *opaque, struct joined *joined)
{
  struct range *range = &ranges->pending_range;
  struct error *error = &ranges->pending_error;
  struct taken_range *taken = &joined->ranges[joined->count];

  ranges->pending = find_range (ranges, opaque, range, error);
  if (ranges->pending != NEXT_FOUND || !can_join (ranges, joined, range))
    return false;
  if (range->zero && add_zeros (ranges, *range, error) == -1) {
    ranges->pending = NEXT_ERROR;
    return false;
  }
  ranges->pending = NEXT_END;
  if (range->zero)
    joined->zeros += range->len;
  else {
    taken->range = *range;
    enter_window (ranges, taken);
    joined->len += range->len;
    joined->count++;
  }
  return true;
}

static enum next_range
take_joined (struct reader_ranges *ranges, void *opaque, bool wait,
             struct joined *joined, struct error *error)
{
  const struct range *first = &joined->ranges[0].range;
  enum next_range next;
  SCOPED_LOCK (&ranges->turn);

  next = take (ranges, opaque, wait, &joined->ranges[0], error);
  joined->count = 1;
  if (next != NEXT_FOUND || first->len == 0 || first->zero || !ranges->joins)
    return next;
  joined->len = first->len;
  while (joined->count < joined->max &&
         can_take (ranges, false) == CAN_TAKE &&
         join_next (ranges, opaque, joined))
    ;
  return NEXT_FOUND;
}

/* Take ranges of data.  Zero ranges before them are added to the table. */
static enum next_range
take_data (struct reader_ranges *ranges, void *opaque, bool wait,
           struct joined *joined, struct error *error)
{
  struct taken_range *first = &joined->ranges[0];

  for (;;) {
    enum next_range next = take_joined (ranges, opaque, wait, joined, error);
    int r;

    if (next != NEXT_FOUND || first->range.len == 0 || !first->range.zero)
      return next;
    r = add_zeros (ranges, first->range, error);
    leave_window (ranges, first);
    if (r == -1)
      return NEXT_ERROR;
  }
}

enum next_range
reader_ranges_next (struct reader_ranges *ranges, void *opaque,
                    struct taken_range *taken, unsigned max, uint64_t max_len,
                    unsigned *count, struct error *error)
{
  struct joined joined = { .ranges = taken, .max = max, .max_len = max_len };
  enum next_range next = take_data (ranges, opaque, true, &joined, error);

  *count = joined.count;
  return next;
}

enum next_range
reader_ranges_try_next (struct reader_ranges *ranges, void *opaque,
                        struct taken_range *range, struct error *error)
{
  struct joined joined = { .ranges = range, .max = 1 };

  return take_data (ranges, opaque, false, &joined, error);
}

void
reader_ranges_move (struct reader_ranges *ranges, struct taken_range *from,
                    struct taken_range *to)
{
  SCOPED_LOCK (&ranges->lock);

  to->range = from->range;
  window_move (&ranges->window, &from->item, &to->item);
}

void
reader_ranges_done (struct reader_ranges *ranges, struct taken_range *range)
{
  leave_window (ranges, range);
  scan_count (ranges->scan, range->range.len, false);
}

bool
reader_ranges_is_done (struct reader_ranges *ranges)
{
  SCOPED_LOCK (&ranges->lock);

  return ranges->ended && !ranges->window.first;
}

void
reader_ranges_stop (struct reader_ranges *ranges)
{
  SCOPED_LOCK (&ranges->lock);

  ranges->stopped = true;
  pthread_cond_broadcast (&ranges->has_advanced);
}
