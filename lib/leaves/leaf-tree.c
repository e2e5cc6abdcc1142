/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf tree is a radix tree with 64 slots in each node.  Its height depends
 * on the highest block that was set, so an image of unknown size takes no more
 * memory than others.  A node at the bottom holds the states of 64 blocks, and
 * their leaves.  A slot of an inner node points to a child, or has a uniform
 * state: it is NULL if all blocks below it are missing, or ALL_ZERO if all
 * blocks below it are zero.  So a hole of 8 EiB takes only a few slots, and a
 * fully allocated image takes little more memory than its leaves.
 *
 * Freed memory is kept for the next allocation.  The malloc library would keep
 * it too, but in the arena of the thread that allocated it, where the thread
 * that changes the tree next does not find it.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/util.h"
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
static void
spare_keep (struct spare **list, void *memory)
{
  struct spare *spare = memory;

  if (!memory)
    return;
  spare->next = *list;
  *list = spare;
}

static void *
spare_take (struct spare **list, size_t size)
{
  struct spare *spare = *list;

  if (!spare)
    return malloc (size);
  *list = spare->next;
  return spare;
}

static void
spare_free (struct spare *spare)
{
  struct spare *next;

  for (; spare; spare = next) {
    next = spare->next;
    free (spare);
  }
}

/* ---- Bottom nodes ----
 *
 * Each has the states of 64 blocks in three bitmaps, and the leaves of its
 * blocks of data in an array without gaps.  I is the index of a block in the
 * node.
 */

/* Returns the list of spare arrays with room for ROOM leaves, a power of two up
 * to 64.
 */
static struct spare **
spare_leaves (struct leaf_tree *tree, unsigned room)
{
  return &tree->spare_leaves[__builtin_ctz (room)];
}

/* Returns the size in bytes of such an array. */
static size_t
array_size (const struct leaf_tree *tree, unsigned room)
{
  size_t size = room * tree->leaf_size;

  return MAX (size, sizeof (struct spare));
}

/* Keep the array of leaves as spare memory, before the caller frees BOTTOM. */
static void
bottom_drop_leaves (struct leaf_tree *tree, struct bottom *bottom)
{
  if (bottom->leaves)
    spare_keep (spare_leaves (tree, bottom->room), bottom->leaves);
}

/* Returns the number of leaves that are before the leaf of block I in the
 * array.
 */
static unsigned
leaves_before (const struct bottom *bottom, unsigned i)
{
  return __builtin_popcountll (bottom->data & ((UINT64_C (1) << i) - 1));
}

/* Remove the leaves of COUNT blocks from FIRST on.  The caller clears the bits
 * of these blocks.
 */
static void
remove_leaves (const struct leaf_tree *tree, struct bottom *bottom,
               unsigned first, unsigned count)
{
  size_t leaf_size = tree->leaf_size;
  unsigned all = __builtin_popcountll (bottom->data);
  unsigned i = leaves_before (bottom, first);
  unsigned j = first + count < WAYS ? leaves_before (bottom, first + count)
                                    : all;

  if (i < j)
    memmove (bottom->leaves + i * leaf_size, bottom->leaves + j * leaf_size,
             (all - j) * leaf_size);
}

/* Make room for COUNT leaves at index I of the array. */
static int
insert_leaves (struct leaf_tree *tree, struct bottom *bottom, unsigned i,
               unsigned count)
{
  size_t leaf_size = tree->leaf_size;
  unsigned all = __builtin_popcountll (bottom->data);
  unsigned room = MAX (bottom->room, 1);

  while (room < all + count)
    room *= 2;
  if (room > bottom->room) {
    unsigned char *bigger = spare_take (spare_leaves (tree, room),
                                        array_size (tree, room));

    if (!bigger)
      return ENOMEM;
    if (bottom->leaves) {
      memcpy (bigger, bottom->leaves, all * leaf_size);
      spare_keep (spare_leaves (tree, bottom->room), bottom->leaves);
    }
    bottom->leaves = bigger;
    bottom->room = room;
  }
  memmove (bottom->leaves + (i + count) * leaf_size,
           bottom->leaves + i * leaf_size, (all - i) * leaf_size);
  return 0;
}

static void
set_bits (struct bottom *bottom, unsigned first, unsigned count,
          enum leaf_state state)
{
  uint64_t bits = count == WAYS ? UINT64_MAX
                                : ((UINT64_C (1) << count) - 1) << first;

  bottom->zero &= ~bits;
  bottom->data &= ~bits;
  bottom->partial &= ~bits;
  switch (state) {
  case LEAF_MISSING: break;
  case LEAF_ZERO:    bottom->zero |= bits; break;
  case LEAF_DATA:    bottom->data |= bits; break;
  case LEAF_PARTIAL: bottom->partial |= bits; break;
  }
}

/* Set blocks to LEAF_MISSING, LEAF_ZERO or LEAF_PARTIAL. */
static void
bottom_set (const struct leaf_tree *tree, struct bottom *bottom,
            unsigned first, unsigned count, enum leaf_state state)
{
  remove_leaves (tree, bottom, first, count);
  set_bits (bottom, first, count, state);
}

/* Set blocks to LEAF_DATA.  Returns 0, or ENOMEM: then they are missing. */
static int
bottom_set_data (struct leaf_tree *tree, struct bottom *bottom, unsigned first,
                 unsigned count, const unsigned char *leaves)
{
  unsigned i;

  bottom_set (tree, bottom, first, count, LEAF_MISSING);
  i = leaves_before (bottom, first);
  if (insert_leaves (tree, bottom, i, count) != 0)
    return ENOMEM;
  memcpy (bottom->leaves + i * tree->leaf_size, leaves,
          count * tree->leaf_size);
  set_bits (bottom, first, count, LEAF_DATA);
  return 0;
}

/* Returns the run of blocks in one state from block I on, within the node. */
static struct leaf_run
bottom_run (const struct leaf_tree *tree, const struct bottom *bottom,
            unsigned i)
{
  uint64_t zero = bottom->zero >> i, data = bottom->data >> i;
  uint64_t partial = bottom->partial >> i;
  struct leaf_run run = { .count = WAYS - i };
  uint64_t same;

  if (zero & 1)
    run.state = LEAF_ZERO, same = zero;
  else if (data & 1)
    run.state = LEAF_DATA, same = data;
  else if (partial & 1)
    run.state = LEAF_PARTIAL, same = partial;
  else
    run.state = LEAF_MISSING, same = ~(zero | data | partial);

  if (~same != 0 && __builtin_ctzll (~same) < run.count)
    run.count = __builtin_ctzll (~same);
  if (run.state == LEAF_DATA)
    run.leaves = bottom->leaves + leaves_before (bottom, i) * tree->leaf_size;
  return run;
}

/* ---- Nodes ---- */

static const char all_zero;
#define ALL_ZERO ((void *) &all_zero) /* this object is never written */

static bool
is_node (const void *slot)
{
  return slot != NULL && slot != ALL_ZERO;
}

/* Does a tree of this height contain block INDEX? */
static bool
reaches (unsigned height, uint64_t index)
{
  unsigned bits = (height + 1) * BITS;

  return bits >= 64 || index >> bits == 0;
}

/* HEIGHT is the height of the node in the slot: 0 for a bottom node. */
static void
free_slot (struct leaf_tree *tree, void *slot, unsigned height)
{
  unsigned i;

  if (!is_node (slot))
    return;
  if (height == 0) {
    struct bottom *bottom = slot;

    bottom_drop_leaves (tree, bottom);
    spare_keep (&tree->spare_bottoms, bottom);
  }
  else {
    for (i = 0; i < WAYS; i++)
      free_slot (tree, ((struct inner *) slot)->slot[i], height - 1);
    spare_keep (&tree->spare_inners, slot);
  }
}

static void *
new_node (struct leaf_tree *tree, unsigned height)
{
  size_t size = height ? sizeof (struct inner) : sizeof (struct bottom);
  void *node = spare_take (height ? &tree->spare_inners
                                  : &tree->spare_bottoms, size);

  return node ? memset (node, 0, size) : NULL;
}

/* Add levels at the top, until the tree reaches block INDEX. */
static int
grow (struct leaf_tree *tree, uint64_t index)
{
  for (; !reaches (tree->height, index); tree->height++) {
    struct inner *inner;

    if (!tree->root)            /* all blocks are missing, so any height is
                                 * valid */
      continue;
    inner = new_node (tree, tree->height + 1);
    if (!inner)
      return ENOMEM;
    inner->slot[0] = tree->root;
    tree->root = inner;
  }
  return 0;
}

/* Returns the node in the slot.  If the slot has a uniform state, a node in
 * which all blocks have this state is stored there first.  Returns NULL if
 * there is no memory.
 */
static void *
split_slot (struct leaf_tree *tree, void **slot, unsigned height)
{
  void *node;

  if (is_node (*slot))
    return *slot;
  node = new_node (tree, height);
  if (!node)
    return NULL;
  if (*slot == ALL_ZERO) {
    if (height == 0)
      ((struct bottom *) node)->zero = UINT64_MAX;
    else {
      struct inner *inner = node;
      unsigned i;

      for (i = 0; i < WAYS; i++)
        inner->slot[i] = ALL_ZERO;
    }
  }
  return *slot = node;
}

/* If all blocks in the node are missing, or all are zero, free the node, and
 * give the slot this uniform state.
 */
static void
merge_slot (struct leaf_tree *tree, void **slot, unsigned height)
{
  void *state;

  if (height == 0) {
    const struct bottom *bottom = *slot;

    if (bottom->zero == UINT64_MAX)
      state = ALL_ZERO;
    else if (!bottom->zero && !bottom->data && !bottom->partial)
      state = NULL;
    else
      return;
  }
  else {
    const struct inner *inner = *slot;
    unsigned i;

    state = inner->slot[0];
    if (is_node (state))
      return;
    for (i = 1; i < WAYS; i++)
      if (inner->slot[i] != state)
        return;
  }
  free_slot (tree, *slot, height);
  *slot = state;
}

/* Set COUNT blocks below the slot to STATE, which is not LEAF_DATA.  FIRST is
 * relative to the first block below the slot.
 */
static int
set_slot (struct leaf_tree *tree, void **slot, unsigned height,
          uint64_t first, uint64_t count, enum leaf_state state)
{
  void *uniform = state == LEAF_ZERO ? ALL_ZERO : NULL;
  unsigned shift = height * BITS;
  int err = 0;

  /* Does the range cover the whole slot?  At the top level the number of blocks
   * of a slot can be too large for 64 bits, but no range is that long.
   */
  if (state != LEAF_PARTIAL && first == 0 && shift + BITS < 64 &&
      count == UINT64_C (1) << (shift + BITS)) {
    free_slot (tree, *slot, height);
    *slot = uniform;
    return 0;
  }
  if (state != LEAF_PARTIAL && *slot == uniform)
    return 0;
  if (!split_slot (tree, slot, height))
    return ENOMEM;

  if (height == 0)
    bottom_set (tree, *slot, first, count, state);
  else {
    struct inner *inner = *slot;

    while (count > 0 && err == 0) {
      uint64_t below = first & ((UINT64_C (1) << shift) - 1);
      uint64_t n = MIN (count, (UINT64_C (1) << shift) - below);

      err = set_slot (tree, &inner->slot[first >> shift], height - 1, below,
                      n, state);
      first += n;
      count -= n;
    }
  }
  if (err == 0)
    merge_slot (tree, slot, height);
  return err;
}

/* ---- The tree ---- */

struct leaf_tree *
leaf_tree_create (uint64_t blocks, size_t leaf_size)
{
  struct leaf_tree *tree = calloc (1, sizeof *tree);

  if (!tree)
    return NULL;
  tree->blocks = blocks;
  tree->leaf_size = leaf_size;
  return tree;
}

void
leaf_tree_set_blocks (struct leaf_tree *tree, uint64_t blocks)
{
  tree->blocks = blocks;
}

void
leaf_tree_free (struct leaf_tree *tree)
{
  unsigned i;

  if (!tree)
    return;
  free_slot (tree, tree->root, tree->height);
  for (i = 0; i < LEAF_ARRAY_SIZES; i++)
    spare_free (tree->spare_leaves[i]);
  spare_free (tree->spare_bottoms);
  spare_free (tree->spare_inners);
  free (tree);
}

size_t
leaf_tree_path_size (const struct leaf_tree *tree)
{
  unsigned height = 0;

  while (tree->blocks > 0 && !reaches (height, tree->blocks - 1))
    height++;
  return sizeof (struct bottom) + height * sizeof (struct inner);
}

int
leaf_tree_set (struct leaf_tree *tree, uint64_t first, uint64_t count,
               enum leaf_state state)
{
  assert (state != LEAF_DATA);
  assert (first <= tree->blocks && count <= tree->blocks - first);
  if (count == 0)
    return 0;
  if (grow (tree, first + count - 1) != 0)
    return ENOMEM;
  return set_slot (tree, &tree->root, tree->height, first, count, state);
}

/* Returns the bottom node of block INDEX, which is created if needed; or NULL.
 */
static struct bottom *
make_bottom (struct leaf_tree *tree, uint64_t index)
{
  void **slot = &tree->root;
  unsigned height;

  for (height = tree->height; height > 0; height--) {
    struct inner *inner = split_slot (tree, slot, height);

    if (!inner)
      return NULL;
    slot = &inner->slot[(index >> height * BITS) & (WAYS - 1)];
  }
  return split_slot (tree, slot, 0);
}

int
leaf_tree_set_data (struct leaf_tree *tree, uint64_t first, uint64_t count,
                    const unsigned char *leaves)
{
  assert (first <= tree->blocks && count <= tree->blocks - first);
  if (count > 0 && grow (tree, first + count - 1) != 0)
    return ENOMEM;
  while (count > 0) {
    unsigned i = first & (WAYS - 1), n = MIN (count, WAYS - i);
    struct bottom *bottom = make_bottom (tree, first);

    if (!bottom || bottom_set_data (tree, bottom, i, n, leaves) != 0)
      return ENOMEM;
    first += n;
    count -= n;
    leaves += n * tree->leaf_size;
  }
  return 0;
}

struct leaf_run
leaf_tree_run (const struct leaf_tree *tree, uint64_t index)
{
  const void *slot = tree->root;
  unsigned height = tree->height;
  struct leaf_run run;

  assert (index < tree->blocks);
  if (!slot || !reaches (height, index))
    return (struct leaf_run) { LEAF_MISSING, tree->blocks - index, NULL };
  for (; height > 0 && is_node (slot); height--)
    slot = ((const struct inner *) slot)
      ->slot[(index >> height * BITS) & (WAYS - 1)];

  if (is_node (slot))
    run = bottom_run (tree, slot, index & (WAYS - 1));
  else {
    unsigned shift = (height + 1) * BITS;

    run.state = slot == ALL_ZERO ? LEAF_ZERO : LEAF_MISSING;
    run.leaves = NULL;
    run.count = shift < 64 ? (UINT64_C (1) << shift) -
                             (index & ((UINT64_C (1) << shift) - 1))
                           : UINT64_MAX;
  }
  run.count = MIN (run.count, tree->blocks - index);
  return run;
}
