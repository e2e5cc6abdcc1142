/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which blocks of a disk clients wrote to or trimmed.
 *
 * The set is a tree of leaves without any leaf: blocks that it calls LEAF_ZERO
 * are in the set, those that it calls LEAF_MISSING are not.
 */

#include <config.h>

#include <stddef.h>

#include "../lib/leaf-tree.h"
#include "written.h"

void
written_add (struct written *written, uint32_t block_size,
             uint64_t offset, uint64_t end)
{
  uint64_t first = offset / block_size;

  if (offset >= end || written->all)
    return;
  if (!written->blocks)
    written->blocks = leaf_tree_create (UINT64_MAX / block_size + 1, 0);
  if (!written->blocks ||
      leaf_tree_set (written->blocks, first,
                     (end - 1) / block_size - first + 1, LEAF_ZERO) != 0)
    written->all = true;
}

bool
written_at (const struct written *written, uint32_t block_size,
            uint64_t offset, uint64_t end, uint64_t *run_end)
{
  uint64_t index = offset / block_size;
  struct leaf_run run;

  *run_end = end;
  if (written->all || !written->blocks)
    return written->all;
  run = leaf_tree_run (written->blocks, index);
  if (run.count <= (end - 1) / block_size - index)
    *run_end = (index + run.count) * block_size;
  return run.state == LEAF_ZERO;
}

void
written_destroy (struct written *written)
{
  leaf_tree_free (written->blocks);
}
