/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blocks of which only some pieces are known.
 *
 * A hash table by block index, and a list by age.  What counts against the
 * bound is what is allocated: blocks of 4 bytes cost far more than 4 bytes.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pieces.h"
#include "zero.h"

#define MIN_BUCKETS 64

struct pieces {
  uint32_t block_size;          /* bytes */
  struct pieces_budget *budget;
  size_t count, nr_buckets;     /* nr_buckets is a power of two */
  struct partial **buckets;
  struct partial *oldest, *newest;
};

struct pieces *
pieces_create (uint32_t block_size, struct pieces_budget *budget)
{
  struct pieces *pieces = calloc (1, sizeof *pieces);

  if (!pieces)
    return NULL;
  pieces->block_size = block_size;
  pieces->budget = budget;
  pieces->nr_buckets = MIN_BUCKETS;
  pieces->buckets = calloc (MIN_BUCKETS, sizeof *pieces->buckets);
  if (!pieces->buckets) {
    free (pieces);
    return NULL;
  }
  return pieces;
}

static size_t
memory_of (const struct pieces *pieces, const struct partial *partial)
{
  return PIECES_OVERHEAD + sizeof *partial + pieces->block_size +
    partial->room * sizeof partial->ranges[0];
}

void
pieces_free (struct pieces *pieces)
{
  struct partial *partial, *newer;

  if (!pieces)
    return;
  for (partial = pieces->oldest; partial; partial = newer) {
    newer = partial->newer;
    pieces->budget->used -= memory_of (pieces, partial);
    partial_free (partial);
  }
  free (pieces->buckets);
  free (pieces);
}

void
partial_free (struct partial *partial)
{
  if (!partial)
    return;
  free (partial->ranges);
  free (partial);
}

static struct partial **
bucket_of (struct partial **buckets, size_t nr_buckets, uint64_t index)
{
  /* Fibonacci hashing: clients write in strides. */
  return &buckets[(index * UINT64_C (0x9e3779b97f4a7c15) >> 32) &
                  (nr_buckets - 1)];
}

bool
pieces_is_empty (const struct pieces *pieces)
{
  return pieces->count == 0;
}

struct partial *
pieces_find (struct pieces *pieces, uint64_t index)
{
  struct partial *partial;

  partial = *bucket_of (pieces->buckets, pieces->nr_buckets, index);
  while (partial && partial->index != index)
    partial = partial->next_in_bucket;
  return partial;
}

/* Long chains are slow, but right: no memory for more buckets is no error. */
static void
grow (struct pieces *pieces)
{
  size_t nr_buckets = 2 * pieces->nr_buckets;
  struct partial **buckets = calloc (nr_buckets, sizeof *buckets);
  struct partial *partial;

  if (!buckets)
    return;
  for (partial = pieces->oldest; partial; partial = partial->newer) {
    struct partial **bucket = bucket_of (buckets, nr_buckets, partial->index);

    partial->next_in_bucket = *bucket;
    *bucket = partial;
  }
  free (pieces->buckets);
  pieces->buckets = buckets;
  pieces->nr_buckets = nr_buckets;
}

static void
link_newest (struct pieces *pieces, struct partial *partial)
{
  partial->newer = NULL;
  partial->older = pieces->newest;
  if (pieces->newest)
    pieces->newest->newer = partial;
  else
    pieces->oldest = partial;
  pieces->newest = partial;
}

static void
unlink_age (struct pieces *pieces, struct partial *partial)
{
  if (partial->older)
    partial->older->newer = partial->newer;
  else
    pieces->oldest = partial->newer;
  if (partial->newer)
    partial->newer->older = partial->older;
  else
    pieces->newest = partial->older;
}

struct partial *
pieces_add (struct pieces *pieces, uint64_t index)
{
  struct partial *partial, **bucket;

  partial = malloc (sizeof *partial + pieces->block_size);
  if (!partial)
    return NULL;
  memset (partial, 0, sizeof *partial);
  partial->index = index;

  if (pieces->count >= pieces->nr_buckets)
    grow (pieces);
  bucket = bucket_of (pieces->buckets, pieces->nr_buckets, index);
  partial->next_in_bucket = *bucket;
  *bucket = partial;
  link_newest (pieces, partial);
  pieces->count++;
  pieces->budget->used += memory_of (pieces, partial);
  return partial;
}

void
pieces_remove (struct pieces *pieces, struct partial *partial)
{
  struct partial **link;

  link = bucket_of (pieces->buckets, pieces->nr_buckets, partial->index);
  while (*link != partial)
    link = &(*link)->next_in_bucket;
  *link = partial->next_in_bucket;
  unlink_age (pieces, partial);
  pieces->count--;
  pieces->budget->used -= memory_of (pieces, partial);
}

struct partial *
pieces_oldest (const struct pieces *pieces)
{
  return pieces->oldest;
}

struct partial *
pieces_excess (struct pieces *pieces, const struct partial *keep)
{
  struct partial *partial;

  if (pieces->budget->used <= pieces->budget->bound)
    return NULL;
  for (partial = pieces->oldest; partial; partial = partial->newer)
    if (partial != keep && !partial->busy)
      return partial;
  return NULL;
}

/* The first range that ends at or behind START. */
static size_t
find_range (const struct partial *partial, uint32_t start)
{
  size_t low = 0, high = partial->nr_ranges;

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (partial->ranges[middle].end < start)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Make room for one more range. */
static int
reserve_range (struct pieces *pieces, struct partial *partial)
{
  size_t room = partial->room ? 2 * partial->room : 2;
  struct partial_range *bigger;

  if (partial->nr_ranges < partial->room)
    return 0;
  bigger = realloc (partial->ranges, room * sizeof *bigger);
  if (!bigger)
    return ENOMEM;
  pieces->budget->used += (room - partial->room) * sizeof *bigger;
  partial->ranges = bigger;
  partial->room = room;
  return 0;
}

/* Replace the ranges from I up to J by COUNT (0, 1 or 2) new ones. */
static void
replace_ranges (struct partial *partial, size_t i, size_t j,
                const struct partial_range *with, size_t count)
{
  memmove (&partial->ranges[i + count], &partial->ranges[j],
           (partial->nr_ranges - j) * sizeof partial->ranges[0]);
  memcpy (&partial->ranges[i], with, count * sizeof *with);
  partial->nr_ranges = partial->nr_ranges - (j - i) + count;
}

int
pieces_put (struct pieces *pieces, struct partial *partial,
            const void *buf, uint32_t len, uint32_t start)
{
  struct partial_range range = { start, start + len };
  size_t i, j;

  if (reserve_range (pieces, partial) != 0)
    return ENOMEM;
  if (buf)
    memcpy (partial->bytes + start, buf, len);
  else
    memset (partial->bytes + start, 0, len);

  i = j = find_range (partial, start);
  while (j < partial->nr_ranges && partial->ranges[j].start <= range.end) {
    if (partial->ranges[j].start < range.start)
      range.start = partial->ranges[j].start;
    if (partial->ranges[j].end > range.end)
      range.end = partial->ranges[j].end;
    j++;
  }
  replace_ranges (partial, i, j, &range, 1);

  unlink_age (pieces, partial);
  link_newest (pieces, partial);
  return 0;
}

int
pieces_forget (struct pieces *pieces, struct partial *partial,
               uint32_t len, uint32_t start)
{
  uint32_t end = start + len;
  struct partial_range rest[2];
  size_t i, j, count = 0;

  if (reserve_range (pieces, partial) != 0)
    return ENOMEM;
  i = find_range (partial, start);
  /* One that only touches START stays whole. */
  if (i < partial->nr_ranges && partial->ranges[i].end == start)
    i++;
  for (j = i; j < partial->nr_ranges && partial->ranges[j].start < end; j++) {
    if (partial->ranges[j].start < start)
      rest[count++] = (struct partial_range) {
        partial->ranges[j].start, start
      };
    if (partial->ranges[j].end > end)
      rest[count++] = (struct partial_range) { end, partial->ranges[j].end };
  }
  replace_ranges (partial, i, j, rest, count);
  return 0;
}

bool
partial_overlaps (const struct partial *partial, uint32_t len, uint32_t start)
{
  size_t i = find_range (partial, start + 1);

  return i < partial->nr_ranges && partial->ranges[i].start < start + len;
}

bool
partial_covers (const struct partial *partial, uint32_t len, uint32_t start)
{
  size_t i = find_range (partial, start + 1);

  return i < partial->nr_ranges && partial->ranges[i].start <= start &&
    partial->ranges[i].end >= start + len;
}

bool
partial_agrees (const struct partial *partial, const void *buf,
                uint32_t len, uint32_t start)
{
  const unsigned char *bytes = buf;
  size_t i;

  for (i = find_range (partial, start + 1); i < partial->nr_ranges; i++) {
    uint32_t from = partial->ranges[i].start, to = partial->ranges[i].end;

    if (from >= start + len)
      break;
    if (from < start)
      from = start;
    if (to > start + len)
      to = start + len;
    if (bytes ? memcmp (partial->bytes + from, bytes + (from - start),
                        to - from) != 0
              : !is_zero (partial->bytes + from, to - from))
      return false;
  }
  return true;
}
