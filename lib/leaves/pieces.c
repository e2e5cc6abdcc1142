/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Partial blocks: blocks whose content is kept, because only some pieces are
 * known, or because they are not hashed yet.
 *
 * Partial blocks are in a hash table by block index, and in a list by the time
 * when a piece was last added.  The budget counts allocated bytes and not bytes
 * of content, because a block of 4 bytes takes far more memory than 4 bytes.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/zero.h"
#include "leaves/pieces-share.h"
#include "leaves/pieces.h"

#define MIN_BUCKETS 64
#define MIN_RANGES 64           /* in a block, unless it is too small to have
                                 * as many */
#define MAX_RANGES 4096
#define CHUNK_ALIGN 64          /* bytes: a cache line; also the alignment of
                                 * the content */

/* The maximum number of ranges of a block.  With more ranges, handling them
 * would take more time than reading the block again.
 */
static size_t
max_ranges (uint32_t block_size)
{
  size_t n = block_size / 128;

  if (n < MIN_RANGES)
    n = MIN_RANGES;
  if (n > MAX_RANGES)
    n = MAX_RANGES;
  /* A block has at most block_size / 2 ranges: every other byte.  The limit is
   * higher, because a block that has reached the limit cannot be changed.
   */
  return n < block_size / 2 + 2 ? n : block_size / 2 + 2;
}

struct pieces *
pieces_create (uint32_t block_size, size_t overhead,
               struct pieces_budget *budget,
               bool (*evict) (void *opaque), void *opaque)
{
  struct pieces *pieces = calloc (1, sizeof *pieces);

  if (!pieces)
    return NULL;
  pieces->block_size = block_size;
  pieces->max_ranges = max_ranges (block_size);
  pieces->chunk = sizeof (struct partial) + block_size +
    pieces->max_ranges * sizeof (struct partial_range);
  pieces->chunk += CHUNK_ALIGN - 1;
  pieces->chunk -= pieces->chunk % CHUNK_ALIGN;
  pieces->overhead = overhead + 2 * sizeof *pieces->buckets;
  pieces->budget = budget;
  pieces->evict = evict;
  pieces->opaque = opaque;
  pieces->nr_buckets = MIN_BUCKETS;
  pieces->buckets = calloc (MIN_BUCKETS, sizeof *pieces->buckets);
  if (!pieces->buckets) {
    free (pieces);
    return NULL;
  }
  budget_add_table (budget, pieces->chunk);
  return pieces;
}

void
pieces_free (struct pieces *pieces)
{
  struct partial *partial, *newer;

  if (!pieces)
    return;
  share_remove_user (pieces);
  for (partial = pieces->oldest; partial; partial = newer) {
    newer = partial->newer;
    partial_free (pieces, partial);
  }
  budget_remove_table (pieces->budget);
  free (pieces->buckets);
  free (pieces);
}

struct partial *
pieces_reserve (struct pieces *pieces, bool zero, uint64_t *seen)
{
  struct partial_range *ranges;
  struct partial *partial;

  partial = budget_get (pieces->budget, pieces->overhead, &zero, seen);
  if (!partial)
    return NULL;
  ranges = (struct partial_range *) (partial + 1);
  *partial = (struct partial) {
    .fresh = zero, .ranges = ranges,
    .bytes = (unsigned char *) partial + pieces->chunk - pieces->block_size
  };
  return partial;
}

void
partial_set_busy (struct pieces *pieces, struct partial *partial)
{
  partial->busy = true;
  budget_busy (pieces->budget, true);
}

void
partial_free (struct pieces *pieces, struct partial *partial)
{
  bool busy = partial->busy;

  budget_put (pieces->budget, partial, pieces->overhead);
  if (busy)
    budget_busy (pieces->budget, false);
}

static struct partial **
bucket_of (struct partial **buckets, size_t nr_buckets, uint64_t index)
{
  /* Fibonacci hashing, because clients often write in strides. */
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

/* If there is no memory for more buckets, the chains get longer, which only
 * makes lookups slower.
 */
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

void
pieces_add (struct pieces *pieces, struct partial *partial, uint64_t index)
{
  struct partial **bucket;

  partial->index = index;
  if (pieces->count >= pieces->nr_buckets)
    grow (pieces);
  bucket = bucket_of (pieces->buckets, pieces->nr_buckets, index);
  partial->next_in_bucket = *bucket;
  *bucket = partial;
  link_newest (pieces, partial);
  pieces->count++;
  pieces->held += pieces->chunk + pieces->overhead;
  share_add_user (pieces);
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
  pieces->held -= pieces->chunk + pieces->overhead;
}

struct partial *
pieces_oldest (const struct pieces *pieces)
{
  struct partial *partial = pieces->oldest;

  while (partial && partial->busy)
    partial = partial->newer;
  return partial;
}

/* Returns the index of the first range that ends at or after START. */
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

/* Replace ranges I to J - 1 (none if I is J) with COUNT ranges, 0, 1 or 2, from
 * the array WITH.
 */
static void
replace_ranges (struct partial *partial, size_t i, size_t j,
                const struct partial_range *with, size_t count)
{
  memmove (&partial->ranges[i + count], &partial->ranges[j],
           (partial->nr_ranges - j) * sizeof partial->ranges[0]);
  memcpy (&partial->ranges[i], with, count * sizeof *with);
  partial->nr_ranges = partial->nr_ranges - (j - i) + count;
}

void
partial_zero (struct partial *partial, uint32_t len)
{
  if (!partial->fresh)
    memset (partial->bytes, 0, len);
  partial->ranges[0] = (struct partial_range) { 0, len };
  partial->nr_ranges = 1;
  partial->on_zeros = true;
}

int
pieces_put (struct pieces *pieces, struct partial *partial,
            const void *buf, uint32_t len, uint32_t start)
{
  struct partial_range range = { start, start + len };
  size_t i, j;

  if (partial->nr_ranges == pieces->max_ranges)
    return ENOBUFS;
  if (buf) {
    memcpy (partial->bytes + start, buf, len);
    partial->has_data = true;
  }
  else if (!partial->fresh || partial->has_data)
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

  if (partial->nr_ranges == pieces->max_ranges)
    return ENOBUFS;
  i = find_range (partial, start);
  /* A range that ends at START has no byte to forget. */
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
partial_covers (const struct partial *partial, uint32_t len)
{
  return partial->nr_ranges > 0 && partial->ranges[0].start == 0 &&
    partial->ranges[0].end >= len;
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
