/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf table: pieces of blocks, given, learnt or forgotten.
 *
 * A block that its last piece completes is hashed without the lock, and stays
 * in the pieces meanwhile, marked busy: whoever has news of that block then
 * takes it out, and the thread that hashes it finds that its leaf is not
 * wanted any more.
 */

#include <config.h>

#include <errno.h>

#include "blkhash.h"
#include "cleanup.h"
#include "leaf-tree.h"
#include "leaf.h"
#include "leaves.h"
#include "pieces.h"
#include "zero.h"

#define MAX_RANGES 4096         /* scattered pieces of a block */

/* Find what is known of the content of a block, to change a part of it.  Of
 * a complete block that is not zero nothing is: only its leaf was kept.
 * NULL: no memory.
 */
static struct partial *
open_partial_locked (struct blkhash_leaves *l, uint64_t index)
{
  enum leaf_state state = leaf_tree_run (l->tree, index).state;
  struct partial *partial = NULL;

  if (state == LEAF_PARTIAL) {
    partial = pieces_find (l->pieces, index);
    if (!partial->busy)
      return partial;
    /* It is complete, and the rest of a block of zeros stays known. */
    if (is_zero (partial->bytes, blocks_length (l, index, 1)))
      state = LEAF_ZERO;
    leaves_drop_partial_locked (l, partial);
  }
  l->generation++;
  partial = pieces_add (l->pieces, index);
  if (!partial)
    goto fail;
  if (leaf_tree_set (l->tree, index, 1, LEAF_PARTIAL) != 0)
    goto fail;
  if (state == LEAF_ZERO &&
      pieces_put (l->pieces, partial, NULL, blocks_length (l, index, 1), 0) != 0)
    goto fail;
  return partial;

 fail:
  leaves_stick_locked (l, ENOMEM);
  return NULL;
}

static int
check_new_piece_locked (struct blkhash_leaves *l, uint64_t index,
                        size_t len, size_t start)
{
  enum leaf_state state;
  struct partial *partial;

  if (l->error)
    return l->error;
  if (!l->once)
    return 0;
  if (index < l->folded)
    return EEXIST;
  state = leaf_tree_run (l->tree, index).state;
  if (state == LEAF_MISSING)
    return 0;
  if (state != LEAF_PARTIAL)
    return EEXIST;
  partial = pieces_find (l->pieces, index);
  return partial->busy || partial_overlaps (partial, len, start) ? EEXIST : 0;
}

static void
evict_locked (struct blkhash_leaves *l, const struct partial *keep)
{
  struct partial *oldest;

  while ((oldest = pieces_excess (l->pieces, keep)))
    leaves_set_locked (l, oldest->index, 1, LEAF_MISSING);
}

/* All pieces of the block are there: make its leaf. */
static int
complete_partial (struct blkhash_leaves *l, struct partial *partial)
{
  unsigned char leaf[BLKHASH_MAX_MD_SIZE];
  uint64_t index = partial->index;
  struct leaf_block block = {
    .data = partial->bytes, .len = blocks_length (l, index, 1), .md = leaf
  };
  int err = leaf_batch (l->engine, &block, 1);

  SCOPED_LOCK (&l->lock);
  if (err)
    leaves_stick_locked (l, err);
  else if (pieces_find (l->pieces, index) == partial) {
    err = leaves_store_locked (l, index, &block);
    if (err == 0 && l->once)
      leaves_fold_early_locked (l);
  }
  if (pieces_find (l->pieces, index) != partial)
    partial_free (partial);
  return err;
}

/* Does a look at a piece of a block teach anything?  A complete block says
 * all, and a look that contradicts what is known only makes it missing.
 */
static bool
learns_piece_locked (struct blkhash_leaves *l, const unsigned char *buf,
                     size_t len, uint64_t index, size_t start)
{
  enum leaf_state state = leaf_tree_run (l->tree, index).state;
  const struct partial *partial;

  if (state == LEAF_MISSING)
    return true;
  if (state == LEAF_PARTIAL) {
    partial = pieces_find (l->pieces, index);
    if (partial_agrees (partial, buf, len, start))
      return !partial->busy;
  }
  if (state == LEAF_PARTIAL || (state == LEAF_ZERO && buf))
    leaves_contradict_locked (l, index, 1);
  return false;
}

static int
put (struct blkhash_leaves *l, enum how how, const unsigned char *buf,
     size_t len, uint64_t index, size_t start)
{
  struct partial *partial;

  if (buf && is_zero (buf, len))
    buf = NULL;
  {
    int err;
    SCOPED_LOCK (&l->lock);

    err = check_new_piece_locked (l, index, len, start);
    if (err)
      return err;
    if (how == LEARN && !learns_piece_locked (l, buf, len, index, start))
      return l->error;
    if (!buf && leaf_tree_run (l->tree, index).state == LEAF_ZERO)
      return 0;
    partial = open_partial_locked (l, index);
    if (!partial)
      return ENOMEM;
    l->generation++;
    if (pieces_put (l->pieces, partial, buf, len, start) != 0)
      return leaves_stick_locked (l, ENOMEM);
    if (!partial_covers (partial, blocks_length (l, index, 1), 0)) {
      /* So many pieces cost more time than to read the block again. */
      if (partial->nr_ranges > MAX_RANGES)
        return leaves_set_locked (l, index, 1, LEAF_MISSING);
      evict_locked (l, partial);
      return 0;
    }
    partial->busy = true;
  }
  return complete_partial (l, partial);
}

static int
forget (struct blkhash_leaves *l, size_t len, uint64_t index,
        size_t start)
{
  struct partial *partial;
  SCOPED_LOCK (&l->lock);

  if (l->error)
    return l->error;
  if (leaf_tree_run (l->tree, index).state == LEAF_MISSING)
    return 0;
  partial = open_partial_locked (l, index);
  if (!partial)
    return ENOMEM;
  l->generation++;
  if (pieces_forget (l->pieces, partial, len, start) != 0)
    return leaves_stick_locked (l, ENOMEM);
  if (partial->nr_ranges == 0)
    return leaves_set_locked (l, index, 1, LEAF_MISSING);
  evict_locked (l, partial);
  return 0;
}

int
leaves_put_piece (struct blkhash_leaves *l, enum how how,
                  const unsigned char *buf, size_t len,
                  uint64_t index, size_t start)
{
  return how == FORGET ? forget (l, len, index, start)
                       : put (l, how, buf, len, index, start);
}

void
leaves_forget_pieces (struct blkhash_leaves *l)
{
  struct partial *partial;
  SCOPED_LOCK (&l->lock);

  while ((partial = pieces_oldest (l->pieces)))
    leaves_set_locked (l, partial->index, 1, LEAF_MISSING);
}
