/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf tree: a sparse map from the index of a block to its state and leaf.
 *
 * The caller holds a lock.
 */

#ifndef BLKHASH_LEAF_TREE_H
#define BLKHASH_LEAF_TREE_H

#include <stddef.h>
#include <stdint.h>

enum leaf_state {
  LEAF_MISSING,                 /* every block, at first */
  LEAF_ZERO,                    /* all zero */
  LEAF_DATA,                    /* its leaf is stored */
  LEAF_PARTIAL,                 /* pieces of it are kept elsewhere */
};

/* Consecutive blocks of one state; a longer run can come in parts. */
struct leaf_run {
  enum leaf_state state;
  uint64_t count;
  const unsigned char *leaves;  /* of LEAF_DATA: COUNT leaves in a row */
};

struct leaf_tree;

/* A map of BLOCKS blocks, with leaves of LEAF_SIZE bytes.  NULL: no memory. */
struct leaf_tree *leaf_tree_create (uint64_t blocks, size_t leaf_size);
void leaf_tree_free (struct leaf_tree *tree);

/* Set the number of blocks; no block beyond was ever set. */
void leaf_tree_set_blocks (struct leaf_tree *tree, uint64_t blocks);

/* The largest size in bytes of the nodes for a single block, without its leaf.
 */
size_t leaf_tree_path_size (const struct leaf_tree *tree);

/* Set COUNT blocks from FIRST to LEAF_MISSING, LEAF_ZERO or LEAF_PARTIAL.
 * ENOMEM: some of them were not set.
 */
int leaf_tree_set (struct leaf_tree *tree, uint64_t first, uint64_t count,
                   enum leaf_state state);

/* Set block INDEX to LEAF_DATA with a copy of LEAF.  0 or ENOMEM. */
int leaf_tree_set_data (struct leaf_tree *tree, uint64_t index,
                        const unsigned char *leaf);

/* The run that starts at INDEX, which is less than BLOCKS.  Its leaves are
 * valid until the tree changes.
 */
struct leaf_run leaf_tree_run (const struct leaf_tree *tree, uint64_t index);

#endif /* BLKHASH_LEAF_TREE_H */
