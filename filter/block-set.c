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

#include "../lib/leaf-tree.h"
#include "block-set.h"

void
block_set_add (struct block_set *set, uint32_t block_size,
               uint64_t offset, uint64_t end)
{
  uint64_t first = offset / block_size;

  if (offset >= end || set->all)
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
block_set_destroy (struct block_set *set)
{
  leaf_tree_free (set->blocks);
}
