/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf table: finds missing ranges, counts known bytes, and returns
 * contradicted ranges and the best batch size.  Called from any thread.
 */

#include <config.h>

#include <errno.h>

#include "blkhash.h"
#include "common/cleanup.h"
#include "common/zero.h"
#include "construction/leaf.h"
#include "leaves/leaf-tree.h"
#include "leaves/leaves-private.h"
#include "leaves/leaves.h"
#include "leaves/pieces.h"

/* Find the first gap in a partial block at or after START.  Returns false if
 * there is none.  All of a busy block counts as missing, because the call that
 * completed it has not returned yet.  An exception is a block of zeros into
 * which data was written: it was complete before that call.
 */
static bool
find_gap_locked (struct blkhash_leaves *l, uint64_t index, size_t start,
                 size_t *gap, size_t *len)
{
  const struct partial *partial = pieces_find (l->pieces, index);
  size_t end = blocks_length (l, index, 1);
  size_t i;
  bool known = !partial->busy || partial->on_zeros;

  *gap = start;
  for (i = 0; known && i < partial->nr_ranges; i++) {
    const struct partial_range *range = &partial->ranges[i];

    if (range->start > *gap) {
      end = range->start;
      break;
    }
    if (range->end > *gap)
      *gap = range->end;
  }
  *len = end - *gap;
  return *len > 0;
}

int
blkhash_leaves_next_missing (struct blkhash_leaves *l, uint64_t offset,
                             uint64_t *start, uint64_t *len)
{
  uint64_t index = offset / l->block_size;
  size_t gap, gap_len;
  SCOPED_LOCK (&l->lock);

  if (l->error)
    return l->error;
  if (l->folded == l->blocks)
    return ENOENT;
  if (index < l->folded)
    offset = (index = l->folded) * l->block_size;
  while (offset < leaves_size (l)) {
    struct leaf_run run = leaf_tree_run (l->tree, index);

    if (run.state == LEAF_MISSING) {
      uint64_t end = index + run.count;

      while (end < l->blocks &&
             (run = leaf_tree_run (l->tree, end)).state == LEAF_MISSING)
        end += run.count;
      *start = offset;
      *len = (end == l->blocks ? leaves_size (l) : end * l->block_size) -
        offset;
      return 0;
    }
    if (run.state == LEAF_PARTIAL) {
      run.count = 1;
      if (find_gap_locked (l, index, offset % l->block_size,
                           &gap, &gap_len)) {
        *start = index * l->block_size + gap;
        *len = gap_len;
        return 0;
      }
    }
    index += run.count;
    if (index == l->blocks)
      break;
    offset = index * l->block_size;
  }
  return ENOENT;
}

/* Count the bytes of a partial block that was a block of zeros: it is complete,
 * but not hashed yet.  The bytes of other partial blocks are not counted.
 */
static void
count_partial_locked (struct blkhash_leaves *l, uint64_t index,
                      uint64_t *data, uint64_t *zero)
{
  const struct partial *partial = pieces_find (l->pieces, index);
  uint64_t len = blocks_length (l, index, 1);

  if (partial && partial->on_zeros && partial_covers (partial, len))
    *(is_zero (partial->bytes, len) ? zero : data) += len;
}

void
blkhash_leaves_count (struct blkhash_leaves *l, uint64_t *data,
                      uint64_t *zero)
{
  uint64_t index;
  SCOPED_LOCK (&l->lock);

  *data = l->folded_data;
  *zero = l->folded_zero;
  for (index = l->folded; index < l->blocks; ) {
    struct leaf_run run = leaf_tree_run (l->tree, index);

    if (run.state == LEAF_DATA)
      *data += blocks_length (l, index, run.count);
    if (run.state == LEAF_ZERO)
      *zero += blocks_length (l, index, run.count);
    if (run.state == LEAF_PARTIAL) {
      run.count = 1;
      count_partial_locked (l, index, data, zero);
    }
    index += run.count;
  }
}

bool
leaves_next_contradiction (struct blkhash_leaves *l,
                           uint64_t *offset, uint64_t *len)
{
  struct contradicted *last;
  size_t n;

  if (__atomic_load_n (&l->nr_contradicted, __ATOMIC_ACQUIRE) == 0)
    return false;

  SCOPED_LOCK (&l->lock);
  n = l->nr_contradicted;
  if (n == 0)
    return false;
  if (n > LEAVES_CONTRADICTED) {
    *offset = 0;
    *len = l->size;
    n = 1;
  }
  else {
    last = &l->contradicted[n - 1];
    *offset = last->index * l->block_size;
    *len = blocks_length (l, last->index, last->count);
  }
  __atomic_store_n (&l->nr_contradicted, n - 1, __ATOMIC_RELEASE);
  return true;
}

size_t
blkhash_leaves_batch (const struct blkhash_leaves *l)
{
  return leaf_best_count (l->engine) * l->block_size;
}
