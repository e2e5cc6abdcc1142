/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf tree: a sparse map from the index of a block to the state and the
 * leaf (digest) of the block.
 *
 * Not thread-safe: the caller must hold a lock.
 */

#ifndef BLKHASH_LEAF_TREE_H
#define BLKHASH_LEAF_TREE_H

#include <stddef.h>
#include <stdint.h>

enum leaf_state {
  LEAF_MISSING,                 /* the initial state of every block */
  LEAF_ZERO,                    /* the block is all zero */
  LEAF_DATA,                    /* the leaf of the block is stored */
  LEAF_PARTIAL,                 /* some pieces of the block are known, or all of
                                 * it is known but not hashed yet; the content
                                 * is not in the tree: see pieces.h */
};

/* Consecutive blocks in the same state.  A long run can be returned in parts.
 */
struct leaf_run {
  enum leaf_state state;
  uint64_t count;
  const unsigned char *leaves;  /* LEAF_DATA only: an array of COUNT leaves */
};

struct leaf_tree;

/* Create a tree for BLOCKS blocks, with leaves of LEAF_SIZE bytes.  Returns
 * NULL with errno ENOMEM.
 */
struct leaf_tree *leaf_tree_create (uint64_t blocks, size_t leaf_size);
void leaf_tree_free (struct leaf_tree *tree);

/* Set the number of blocks.  No block at or after this number may have been
 * set.
 */
void leaf_tree_set_blocks (struct leaf_tree *tree, uint64_t blocks);

/* Returns the maximum size, in bytes, of the nodes that a single block needs,
 * without its leaf.
 */
size_t leaf_tree_path_size (const struct leaf_tree *tree);

/* Set COUNT blocks, the first of which is FIRST, to STATE: LEAF_MISSING,
 * LEAF_ZERO or LEAF_PARTIAL.  Returns 0, or ENOMEM if some were not set.
 */
int leaf_tree_set (struct leaf_tree *tree, uint64_t first, uint64_t count,
                   enum leaf_state state);

/* Set COUNT blocks, the first of which is FIRST, to LEAF_DATA, and store a copy
 * of LEAVES.  Returns 0, or ENOMEM if some were not set.
 */
int leaf_tree_set_data (struct leaf_tree *tree, uint64_t first, uint64_t count,
                        const unsigned char *leaves);

/* Returns the run that starts at block INDEX, which must be less than the
 * number of blocks.  The leaves of the run are valid until the tree changes.
 */
struct leaf_run leaf_tree_run (const struct leaf_tree *tree, uint64_t index);

#endif /* BLKHASH_LEAF_TREE_H */
