/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The internals of the leaf tree: leaf-tree.c has the inner nodes,
 * leaf-tree-bottom.c the bottom nodes.
 */

#ifndef BLKHASH_LEAF_TREE_PRIVATE_H
#define BLKHASH_LEAF_TREE_PRIVATE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "leaves/leaf-tree.h"

#define BITS 6
#define WAYS (1u << BITS)

/* At most one of the three bits of a block is set.  If none is set, the block
 * is missing.
 */
struct bottom {
  uint64_t zero, data, partial;
  unsigned room;                /* number of leaves allocated */
  unsigned char *leaves;        /* leaves of the blocks in DATA, without gaps */
};

struct inner {
  void *slot[WAYS];
};

struct spare {
  struct spare *next;
};

#define LEAF_ARRAY_SIZES (BITS + 1) /* 1, 2, 4 ... WAYS leaves */

struct leaf_tree {
  uint64_t blocks;
  size_t leaf_size;
  unsigned height;              /* levels of inner nodes above the bottom;
                                 * blocks that the root does not reach are
                                 * missing */
  void *root;                   /* the topmost slot */
  struct spare *spare_leaves[LEAF_ARRAY_SIZES];
  struct spare *spare_bottoms, *spare_inners;
};

/* ---- Memory ---- */

/* Keep free memory for the next allocation.  There is one list for each size.
 */
static inline void
spare_keep (struct spare **list, void *memory)
{
  struct spare *spare = memory;

  if (!memory)
    return;
  spare->next = *list;
  *list = spare;
}

static inline void *
spare_take (struct spare **list, size_t size)
{
  struct spare *spare = *list;

  if (!spare)
    return malloc (size);
  *list = spare->next;
  return spare;
}

static inline void
spare_free (struct spare *spare)
{
  struct spare *next;

  for (; spare; spare = next) {
    next = spare->next;
    free (spare);
  }
}

/* ---- Bottom nodes; I is the index of a block in the node ---- */

/* Set blocks to LEAF_MISSING, LEAF_ZERO or LEAF_PARTIAL. */
void bottom_set (const struct leaf_tree *tree, struct bottom *bottom,
                 unsigned first, unsigned count, enum leaf_state state);

/* Set a block to LEAF_DATA.  Returns 0 or ENOMEM. */
int bottom_set_data (struct leaf_tree *tree, struct bottom *bottom, unsigned i,
                     const unsigned char *leaf);

/* Returns the run of blocks in one state from block I on, within the node. */
struct leaf_run bottom_run (const struct leaf_tree *tree,
                            const struct bottom *bottom, unsigned i);

/* Keep the array of leaves as spare memory, before the caller frees BOTTOM. */
void bottom_drop_leaves (struct leaf_tree *tree, struct bottom *bottom);

#endif /* BLKHASH_LEAF_TREE_PRIVATE_H */
