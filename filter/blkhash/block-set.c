/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A set of blocks of a disk.  See block-set.h.
 */

#include <config.h>

#include "../lib/common/util.h"
#include "../lib/leaves/leaf-tree.h"
#include "blkhash/block-set.h"

/* Returns the offset of block INDEX, or UINT64_MAX if it overflows. */
static uint64_t
start_of (uint64_t index, uint32_t block_size)
{
  return index > UINT64_MAX / block_size ? UINT64_MAX : index * block_size;
}

void
block_set_add (struct block_set *set, uint32_t block_size,
               uint64_t offset, uint64_t end)
{
  uint64_t first, next, run_end;

  if (offset >= end)
    return;
  /* Usually the set already has the range: a look-up is cheaper than adding
   * the range again.
   */
  if (block_set_contains (set, block_size, offset, end, &run_end) &&
      run_end == end)
    return;
  first = offset / block_size;
  next = (end - 1) / block_size + 1;
  if (!set->blocks)
    set->blocks = leaf_tree_create (UINT64_MAX / block_size + 1, 0);
  if (!set->blocks ||
      leaf_tree_set (set->blocks, first, next - first, LEAF_ZERO) != 0)
    set->all = true;
  set->last_in = (struct byte_range) {
    start_of (first, block_size), start_of (next, block_size)
  };
  set->last_out = (struct byte_range) { 0 };
}

/* Sets *IN to whether block INDEX is in the set.  Returns a range of bytes that
 * contains this block, and in which *IN is the same for each block.
 */
static struct byte_range
find_run (const struct block_set *set, uint32_t block_size, uint64_t index,
          bool *in)
{
  struct leaf_run run;

  *in = set->all;
  if (set->all || !set->blocks)
    return (struct byte_range) { 0, UINT64_MAX };
  run = leaf_tree_run (set->blocks, index);
  *in = run.state == LEAF_ZERO;
  return (struct byte_range) {
    start_of (index, block_size), start_of (index + run.count, block_size)
  };
}

bool
block_set_look_up (struct block_set *set, uint32_t block_size,
                   uint64_t offset, uint64_t end, uint64_t *run_end)
{
  bool in;
  struct byte_range run = find_run (set, block_size, offset / block_size, &in);

  *(in ? &set->last_in : &set->last_out) = run;
  *run_end = MIN (end, run.end);
  return in;
}

void
block_set_remove (struct block_set *set, uint32_t block_size,
                  uint64_t offset, uint64_t end)
{
  uint64_t first, next;

  if (!set->blocks)             /* the set is empty, or ALL is set */
    return;
  first = DIV_ROUND_UP (offset, block_size);
  next = end / block_size;
  if (first >= next)
    return;
  leaf_tree_set (set->blocks, first, next - first, LEAF_MISSING);
  set->last_in = (struct byte_range) { 0 };
}

bool
block_set_next (struct block_set *set, uint32_t block_size,
                uint64_t *offset, uint64_t *end)
{
  for (; *offset < UINT64_MAX; *offset = *end)
    if (block_set_contains (set, block_size, *offset, UINT64_MAX, end))
      return true;
  return false;
}

void
block_set_clear (struct block_set *set)
{
  leaf_tree_free (set->blocks);
  *set = (struct block_set) { 0 };
}

void
block_set_add_set (struct block_set *set, uint32_t block_size,
                   struct block_set *from)
{
  uint64_t offset = 0, end;

  for (; block_set_next (from, block_size, &offset, &end); offset = end)
    block_set_add (set, block_size, offset, end);
}

void
block_set_move (struct block_set *set, uint32_t block_size,
                struct block_set *from)
{
  if (block_set_is_empty (set)) {
    struct block_set empty = *set;

    *set = *from;
    *from = empty;
  }
  block_set_add_set (set, block_size, from);
  block_set_clear (from);
}
