/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Partial blocks are in a hash table by block index, and in a list by the time
 * when a piece was last added.  The budget counts allocated bytes and not bytes
 * of content, because a block of 4 bytes takes far more memory than 4 bytes.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/util.h"
#include "common/zero.h"
#include "leaves/pieces.h"

/* ---- The budget ----
 *
 * The first allocation maps as many bytes as the bound, and chunks are cut from
 * this mapping in order, so pages that no chunk has used take no memory.  Free
 * chunks are kept for the next allocation, and count as used memory, until no
 * chunk is in use.  At that point cutting restarts at the beginning of the
 * mapping, and most pages are returned to the operating system.
 *
 * malloc was rejected, because it keeps freed memory in an arena for each
 * thread: when several threads, one after the other, filled a bound of 64 MiB
 * and freed all of it, 911 MiB remained resident.
 */

#define KEEP (8 * 1024 * 1024)  /* bytes whose pages are kept when no chunk is
                                 * in use, unless a chunk is larger */
#define MAX_PAGE 65536          /* bytes; a multiple of any page size */

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

struct spare_chunk {
  struct spare_chunk *next;
};

void
budget_init (struct pieces_budget *budget, size_t bound)
{
  *budget = (struct pieces_budget) { .bound = bound };
  pthread_mutex_init (&budget->users_lock, NULL);
  pthread_mutex_init (&budget->lock, NULL);
  pthread_cond_init (&budget->has_freed, NULL);
}

void
budget_destroy (struct pieces_budget *budget)
{
  pthread_cond_destroy (&budget->has_freed);
  pthread_mutex_destroy (&budget->lock);
  pthread_mutex_destroy (&budget->users_lock);
}

/* Add a table that uses chunks of CHUNK bytes, a multiple of 64 that is the
 * same for all tables.
 */
static void
budget_add_table (struct pieces_budget *budget, size_t chunk)
{
  SCOPED_LOCK (&budget->lock);

  assert (budget->tables == 0 || chunk == budget->chunk);
  budget->chunk = chunk;
  budget->tables++;
}

static void *
map (void *at, size_t size)
{
  return mmap (at, size, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

static void
unmap_locked (struct pieces_budget *budget)
{
  if (budget->base)
    munmap (budget->base, budget->bound);
  budget->base = NULL;
  budget->dirty = 0;
}

/* No chunk is in use: restart cutting, and return pages beyond KEEP. */
static void
reset_locked (struct pieces_budget *budget)
{
  const size_t keep =
    ((budget->chunk > KEEP ? budget->chunk : KEEP) | (MAX_PAGE - 1)) + 1;

  budget->used -= budget->cut;
  budget->cut = 0;
  budget->spare = NULL;
  if (budget->dirty <= keep)
    return;
  budget->dirty = keep;
  if (map (budget->base + keep, budget->bound - keep) == MAP_FAILED)
    unmap_locked (budget);
}

/* Remove a table.  The last removal releases all memory. */
static void
budget_remove_table (struct pieces_budget *budget)
{
  SCOPED_LOCK (&budget->lock);

  if (--budget->tables == 0)
    unmap_locked (budget);
}

static void *
cut_chunk_locked (struct pieces_budget *budget, bool *zero)
{
  void *chunk;

  if (!budget->base) {
    void *base = map (NULL, budget->bound);

    if (base == MAP_FAILED) {
      errno = ENOMEM;
      return NULL;
    }
    budget->base = base;
  }
  chunk = budget->base + budget->cut;
  *zero = budget->cut >= budget->dirty;
  budget->cut += budget->chunk;
  if (budget->dirty < budget->cut)
    budget->dirty = budget->cut;
  budget->used += budget->chunk;
  return chunk;
}

/* Allocate a chunk, and account for OVERHEAD bytes that the caller allocates
 * for it elsewhere.  If *ZERO is set, a zeroed chunk is preferred; on return
 * *ZERO says if the chunk is zeroed.  Returns NULL with errno set to ENOMEM, or
 * to ENOBUFS if the bound would be exceeded.  With ENOBUFS, *SEEN is set for
 * budget_wait.
 */
static void *
budget_get (struct pieces_budget *budget, size_t overhead, bool *zero,
            uint64_t *seen)
{
  SCOPED_LOCK (&budget->lock);
  struct spare_chunk *spare = budget->spare;
  size_t room = budget->bound - budget->used;
  void *chunk = spare;

  *seen = budget->freed;
  if ((*zero || !spare) && room >= budget->chunk + overhead)
    chunk = cut_chunk_locked (budget, zero);
  else if (spare && room >= overhead) {
    budget->spare = spare->next;
    *zero = false;
  }
  else {
    errno = ENOBUFS;
    return NULL;
  }
  if (chunk) {
    budget->chunks_in_use++;
    budget->used += overhead;
  }
  return chunk;
}

/* Free CHUNK.  OVERHEAD is the same as in budget_get. */
static void
budget_put (struct pieces_budget *budget, void *chunk, size_t overhead)
{
  SCOPED_LOCK (&budget->lock);
  struct spare_chunk *spare = chunk;

  spare->next = budget->spare;
  budget->spare = spare;
  budget->used -= overhead;
  budget->freed++;
  if (--budget->chunks_in_use == 0)
    reset_locked (budget);
  if (budget->busy > 0)
    pthread_cond_broadcast (&budget->has_freed);
}

/* Called with true before a chunk is hashed, and with false after the chunk was
 * hashed and freed.  If the chunk were freed after the call with false,
 * budget_wait could return false although a chunk is about to be freed.
 */
static void
budget_busy (struct pieces_budget *budget, bool begins)
{
  SCOPED_LOCK (&budget->lock);

  if (begins)
    budget->busy++;
  else if (--budget->busy == 0)
    pthread_cond_broadcast (&budget->has_freed);
}

bool
budget_wait (struct pieces_budget *budget, uint64_t seen)
{
  SCOPED_LOCK (&budget->lock);

  while (budget->freed == seen && budget->busy > 0)
    pthread_cond_wait (&budget->has_freed, &budget->lock);
  return budget->freed != seen;
}

/* ---- The users of a budget ----
 *
 * They are the tables that have pieces of blocks.
 *
 * A table that needs room holds its own lock, so it must not wait for the lock
 * of another table: a user whose lock is held is skipped.
 *
 * A user is added to the list with its first piece.  It is removed when it is
 * freed, or if it holds nothing at the time that any table needs room.
 */

static void
add_user_locked (struct pieces *pieces)
{
  struct pieces_budget *budget = pieces->budget;

  pieces->prev_user = NULL;
  pieces->next_user = budget->users;
  if (budget->users)
    budget->users->prev_user = pieces;
  budget->users = pieces;
  pieces->listed = true;
}

static void
remove_user_locked (struct pieces *pieces)
{
  if (pieces->prev_user)
    pieces->prev_user->next_user = pieces->next_user;
  else
    pieces->budget->users = pieces->next_user;
  if (pieces->next_user)
    pieces->next_user->prev_user = pieces->prev_user;
  pieces->listed = false;
}

/* Add PIECES, which holds a block, to the list of users, unless it is there. */
static void
share_add_user (struct pieces *pieces)
{
  if (pieces->listed)
    return;

  SCOPED_LOCK (&pieces->budget->users_lock);
  if (!pieces->listed)
    add_user_locked (pieces);
}

static void
share_remove_user (struct pieces *pieces)
{
  SCOPED_LOCK (&pieces->budget->users_lock);

  if (pieces->listed)
    remove_user_locked (pieces);
}

/* The user with the highest rank evicts first.  The rank is the memory that the
 * user holds, and idle users rank above all others.
 */
static uint64_t
eviction_rank (const struct pieces *user)
{
  uint64_t held = user->held;

  return held > 0 && user->idle ? held + UINT64_MAX / 2 : held;
}

/* Find the largest user that was not tried yet, with idle users before all
 * others.  If several hold the same amount, FIRST is preferred.  Users that
 * hold nothing are removed from the list.
 */
static struct pieces *
find_largest_locked (struct pieces_budget *budget, struct pieces *first)
{
  struct pieces *user, *next, *best = NULL;
  uint64_t best_rank = 0;

  if (first->listed && !first->tried) {
    best_rank = eviction_rank (first);
    best = best_rank > 0 ? first : NULL;
  }
  for (user = budget->users; user; user = next) {
    uint64_t rank = eviction_rank (user);

    next = user->next_user;
    if (rank == 0) {
      remove_user_locked (user);
      /* The user may have added a piece just before it was removed from the
       * list.  At that time it was still listed, so it did not add itself.
       */
      if (user->held > 0)
        add_user_locked (user);
    }
    else if (!user->tried && rank > best_rank) {
      best = user;
      best_rank = rank;
    }
  }
  return best;
}

int
share_make_room (struct pieces *pieces, struct partial **oldest)
{
  struct pieces_budget *budget = pieces->budget;
  struct pieces *user;
  SCOPED_LOCK (&budget->users_lock);

  for (user = budget->users; user; user = user->next_user)
    user->tried = false;
  while ((user = find_largest_locked (budget, pieces))) {
    if (user == pieces) {
      *oldest = pieces_oldest (pieces);
      if (*oldest)
        return EAGAIN;
    }
    else if (user->evict && user->evict (user->opaque))
      return 0;
    user->tried = true;
  }
  return ENOBUFS;
}

/* ---- The blocks ---- */

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
  size_t n = MIN (MAX (block_size / 128, MIN_RANGES), MAX_RANGES);

  /* A block has at most block_size / 2 ranges: every other byte.  The limit is
   * higher, because a block that has reached the limit cannot be changed.
   */
  return MIN (n, block_size / 2 + 2);
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

/* ---- The ranges of a block ---- */

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
