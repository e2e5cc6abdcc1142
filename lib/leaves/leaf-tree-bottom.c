/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The bottom nodes of the leaf tree.  Each has the states of 64 blocks in three
 * bitmaps, and the leaves of its blocks of data in an array without gaps.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "leaves/leaf-tree-private.h"
#include "leaves/leaf-tree.h"

/* Returns the list of spare arrays with room for ROOM leaves, a power of two up
 * to 64.
 */
static struct spare **
spare_leaves (struct leaf_tree *tree, unsigned room)
{
  return &tree->spare_leaves[__builtin_ctz (room)];
}

static size_t
leaves_size (const struct leaf_tree *tree, unsigned room)
{
  size_t size = room * tree->leaf_size;

  return size < sizeof (struct spare) ? sizeof (struct spare) : size;
}

void
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

/* Make room for a leaf at index I of the array. */
static int
insert_leaf (struct leaf_tree *tree, struct bottom *bottom, unsigned i)
{
  size_t leaf_size = tree->leaf_size;
  unsigned all = __builtin_popcountll (bottom->data);

  if (all == bottom->room) {
    unsigned room = all ? 2 * all : 1;
    unsigned char *bigger = spare_take (spare_leaves (tree, room),
                                        leaves_size (tree, room));

    if (!bigger)
      return ENOMEM;
    if (bottom->leaves) {
      memcpy (bigger, bottom->leaves, all * leaf_size);
      spare_keep (spare_leaves (tree, bottom->room), bottom->leaves);
    }
    bottom->leaves = bigger;
    bottom->room = room;
  }
  memmove (bottom->leaves + (i + 1) * leaf_size, bottom->leaves + i * leaf_size,
           (all - i) * leaf_size);
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

void
bottom_set (const struct leaf_tree *tree, struct bottom *bottom,
            unsigned first, unsigned count, enum leaf_state state)
{
  remove_leaves (tree, bottom, first, count);
  set_bits (bottom, first, count, state);
}

int
bottom_set_data (struct leaf_tree *tree, struct bottom *bottom, unsigned i,
                 const unsigned char *leaf)
{
  unsigned at = leaves_before (bottom, i);

  if (!(bottom->data >> i & 1) &&
      insert_leaf (tree, bottom, at) != 0)
    return ENOMEM;
  memcpy (bottom->leaves + at * tree->leaf_size, leaf, tree->leaf_size);
  set_bits (bottom, i, 1, LEAF_DATA);
  return 0;
}

struct leaf_run
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
