/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf table: whole blocks that are given, observed or forgotten.
 *
 * Blocks are hashed by leaf_batch before the lock is taken.  leaf_batch can
 * leave them to another thread, which hashes them together with its own.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "blkhash.h"
#include "common/cleanup.h"
#include "construction/leaf.h"
#include "leaves/leaf-tree.h"
#include "leaves/leaves-private.h"
#include "leaves/leaves.h"
#include "leaves/pieces.h"

int
leaves_set_error_locked (struct blkhash_leaves *l, int err)
{
  if (l->error == 0)
    l->error = err;
  return l->error;
}

/* A block that is busy (being hashed) is only removed from the pieces; the
 * thread that hashes it frees it.
 */
void
leaves_drop_partial_locked (struct blkhash_leaves *l, struct partial *partial)
{
  pieces_remove (l->pieces, partial);
  if (!partial->busy)
    partial_free (l->pieces, partial);
}

static void
drop_partials_locked (struct blkhash_leaves *l, uint64_t first,
                      uint64_t count)
{
  uint64_t end = first + count;

  while (first < end && !pieces_is_empty (l->pieces)) {
    struct leaf_run run = leaf_tree_run (l->tree, first);

    if (run.state == LEAF_PARTIAL) {
      struct partial *partial = pieces_find (l->pieces, first);

      if (partial)              /* NULL is possible only after an error */
        leaves_drop_partial_locked (l, partial);
      run.count = 1;
    }
    first += run.count;
  }
}

int
leaves_set_locked (struct blkhash_leaves *l, uint64_t first, uint64_t count,
                   enum leaf_state state)
{
  int err;

  drop_partials_locked (l, first, count);
  l->generation++;
  err = leaf_tree_set (l->tree, first, count, state);
  return err ? leaves_set_error_locked (l, err) : 0;
}

int
leaves_store_locked (struct blkhash_leaves *l, uint64_t index,
                     const struct leaf_block *block)
{
  int err;

  if (block->zero)
    return leaves_set_locked (l, index, 1, LEAF_ZERO);
  drop_partials_locked (l, index, 1);
  l->generation++;
  err = leaf_tree_set_data (l->tree, index, block->md);
  l->unfolded += err == 0 && l->once;
  return err ? leaves_set_error_locked (l, err) : 0;
}

/* Returns 0, the error of the table, or, with BLKHASH_LEAVES_ONCE, EEXIST if
 * one of these blocks, or a piece of it, was already given.
 */
static int
check_new_locked (struct blkhash_leaves *l, uint64_t first, uint64_t count)
{
  uint64_t end = first + count;

  if (l->error)
    return l->error;
  if (!l->once)
    return 0;
  if (first < l->folded)
    return EEXIST;
  while (first < end) {
    struct leaf_run run = leaf_tree_run (l->tree, first);

    if (run.state != LEAF_MISSING)
      return EEXIST;
    first += run.count;
  }
  return 0;
}

int
leaves_contradict_locked (struct blkhash_leaves *l, uint64_t index,
                          uint64_t count)
{
  size_t n = l->nr_contradicted;
  struct contradicted *last = n > 0 && n <= LEAVES_CONTRADICTED
    ? &l->contradicted[n - 1] : NULL;

  if (last && last->index + last->count == index)
    last->count += count;
  else if (n <= LEAVES_CONTRADICTED) {
    if (n < LEAVES_CONTRADICTED)
      l->contradicted[n] = (struct contradicted) { index, count };
    __atomic_store_n (&l->nr_contradicted, n + 1, __ATOMIC_RELEASE);
  }
  return leaves_set_locked (l, index, count, LEAF_MISSING);
}

/* BLOCK is the observed content of block INDEX.  If it contradicts the table,
 * the block becomes missing, because it is not known whether the table or the
 * observed content is outdated.
 */
static int
observe_block_locked (struct blkhash_leaves *l, uint64_t index,
                      const struct leaf_block *block)
{
  struct leaf_run run = leaf_tree_run (l->tree, index);
  bool agrees = true;

  switch (run.state) {
  case LEAF_MISSING:
    break;
  case LEAF_ZERO:
    agrees = block->zero;
    break;
  case LEAF_DATA:
    agrees = !block->zero &&
      memcmp (run.leaves, block->md, l->leaf_size) == 0;
    break;
  case LEAF_PARTIAL:
    agrees = partial_agrees (pieces_find (l->pieces, index), block->data,
                             block->len, 0);
    break;
  }
  if (!agrees)
    return leaves_contradict_locked (l, index, 1);
  if (run.state == LEAF_ZERO || run.state == LEAF_DATA)
    return 0;
  return leaves_store_locked (l, index, block);
}

/* Hash and store up to LEAVES_BATCH blocks of data. */
static int
put_data (struct blkhash_leaves *l, enum leaves_op op, const unsigned char *buf,
          uint64_t index, size_t count)
{
  unsigned char leaves[LEAVES_BATCH * BLKHASH_MAX_MD_SIZE];
  struct leaf_block blocks[LEAVES_BATCH];
  size_t i;
  int err;

  for (i = 0; i < count; i++) {
    blocks[i].data = buf + i * l->block_size;
    blocks[i].len = blocks_length (l, index + i, 1);
    blocks[i].md = leaves + i * l->leaf_size;
  }
  err = leaf_batch (l->engine, blocks, count);

  SCOPED_LOCK (&l->lock);
  if (err)
    return leaves_set_error_locked (l, err);
  err = check_new_locked (l, index, count);
  for (i = 0; i < count && err == 0; i++)
    err = op == OBSERVE ? observe_block_locked (l, index + i, &blocks[i])
                        : leaves_store_locked (l, index + i, &blocks[i]);
  if (err == 0 && l->once)
    err = leaves_fold_early_locked (l);
  return err;
}

static int
observe_zeros_locked (struct blkhash_leaves *l, uint64_t index,
                      uint64_t count)
{
  static const struct leaf_block zero = { .zero = true };
  uint64_t end = index + count;
  int err = l->error;

  while (index < end && err == 0) {
    struct leaf_run run = leaf_tree_run (l->tree, index);

    if (run.count > end - index)
      run.count = end - index;
    switch (run.state) {
    case LEAF_MISSING:
      err = leaves_set_locked (l, index, run.count, LEAF_ZERO);
      break;
    case LEAF_ZERO:
      break;
    case LEAF_DATA:
      err = leaves_contradict_locked (l, index, run.count);
      break;
    case LEAF_PARTIAL:
      run.count = 1;
      if (partial_agrees (pieces_find (l->pieces, index), NULL,
                          blocks_length (l, index, 1), 0))
        err = leaves_store_locked (l, index, &zero);
      else
        err = leaves_contradict_locked (l, index, 1);
      break;
    }
    index += run.count;
  }
  return err;
}

static int
put_zeros (struct blkhash_leaves *l, enum leaves_op op, uint64_t index,
           uint64_t count)
{
  int err;
  SCOPED_LOCK (&l->lock);

  if (op == OBSERVE)
    return observe_zeros_locked (l, index, count);
  err = check_new_locked (l, index, count);
  if (err == 0)
    err = leaves_set_locked (l, index, count, LEAF_ZERO);
  if (err == 0 && l->once)
    err = leaves_fold_early_locked (l);
  return err;
}

static int
forget (struct blkhash_leaves *l, uint64_t index, uint64_t count)
{
  SCOPED_LOCK (&l->lock);

  if (l->error)
    return l->error;
  return leaves_set_locked (l, index, count, LEAF_MISSING);
}

static int
store_leaves_locked (struct blkhash_leaves *l, uint64_t first, uint64_t count,
                     const unsigned char *leaves)
{
  uint64_t i;
  int err = 0;

  drop_partials_locked (l, first, count);
  l->generation++;
  for (i = 0; i < count && err == 0; i++) {
    err = leaf_tree_set_data (l->tree, first + i, leaves + i * l->leaf_size);
    l->unfolded += err == 0 && l->once;
  }
  return err ? leaves_set_error_locked (l, err) : 0;
}

int
leaves_put_leaves (struct blkhash_leaves *l, uint64_t first, uint64_t count,
                   const unsigned char *leaves, size_t leaf_size)
{
  int err;
  SCOPED_LOCK (&l->lock);

  if (!l->size_known || first > l->blocks || count > l->blocks - first ||
      (leaves && leaf_size != l->leaf_size))
    return EINVAL;
  err = check_new_locked (l, first, count);
  if (err)
    return err;
  if (!leaves)
    err = leaves_set_locked (l, first, count, LEAF_ZERO);
  else if (l->once && !l->folding && first == l->folded)
    err = leaves_fold_next_locked (l, count, leaves);
  else
    err = store_leaves_locked (l, first, count, leaves);
  if (err == 0 && l->once)
    err = leaves_fold_early_locked (l);
  return err;
}

int
leaves_put_blocks (struct blkhash_leaves *l, enum leaves_op op,
                   const unsigned char *buf, uint64_t index, uint64_t count)
{
  if (op == FORGET)
    return forget (l, index, count);
  return buf ? put_data (l, op, buf, index, count)
             : put_zeros (l, op, index, count);
}
