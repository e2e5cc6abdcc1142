/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A set of blocks of a disk.
 *
 * The set is a tree of leaves without any leaf: blocks that it calls LEAF_ZERO
 * are in the set, those that it calls LEAF_MISSING are not.
 */

#include <config.h>

#include <stddef.h>

#include "../lib/leaves/leaf-tree.h"
#include "block-set.h"

void
block_set_add (struct block_set *set, uint32_t block_size,
               uint64_t offset, uint64_t end)
{
  uint64_t first = offset / block_size, run_end;

  if (offset >= end)
    return;
  /* Mostly it is there already, which is cheaper to see than to set. */
  if (block_set_at (set, block_size, offset, end, &run_end) && run_end == end)
    return;
  if (!set->blocks)
    set->blocks = leaf_tree_create (UINT64_MAX / block_size + 1, 0);
  if (!set->blocks ||
      leaf_tree_set (set->blocks, first,
                     (end - 1) / block_size - first + 1, LEAF_ZERO) != 0)
    set->all = true;
}

bool
block_set_at (const struct block_set *set, uint32_t block_size,
              uint64_t offset, uint64_t end, uint64_t *run_end)
{
  uint64_t index = offset / block_size;
  struct leaf_run run;

  *run_end = end;
  if (set->all || !set->blocks)
    return set->all;
  run = leaf_tree_run (set->blocks, index);
  if (run.count <= (end - 1) / block_size - index)
    *run_end = (index + run.count) * block_size;
  return run.state == LEAF_ZERO;
}

void
block_set_remove (struct block_set *set, uint32_t block_size,
                  uint64_t offset, uint64_t end)
{
  uint64_t first, last;

  if (!set->blocks)             /* without memory they stay */
    return;
  first = offset / block_size + (offset % block_size != 0);
  last = end / block_size;
  if (first < last)
    leaf_tree_set (set->blocks, first, last - first, LEAF_MISSING);
}

void
block_set_add_set (struct block_set *set, uint32_t block_size,
                   const struct block_set *from)
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

bool
block_set_next (const struct block_set *set, uint32_t block_size,
                uint64_t *offset, uint64_t *end)
{
  for (; *offset < UINT64_MAX; *offset = *end)
    if (block_set_at (set, block_size, *offset, UINT64_MAX, end))
      return true;
  return false;
}

bool
block_set_is_empty (const struct block_set *set)
{
  return !set->blocks && !set->all;
}

void
block_set_clear (struct block_set *set)
{
  leaf_tree_free (set->blocks);
  *set = (struct block_set) { 0 };
}
