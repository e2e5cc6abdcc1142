/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf table: whole blocks and pieces of blocks that are given, observed or
 * forgotten.
 *
 * Blocks are hashed by leaf_batch before the lock is taken.  leaf_batch can
 * leave them to another thread, which hashes them together with its own.
 *
 * When the last piece completes a block, the calling thread hashes the block
 * without holding the lock.  Meanwhile the block stays in the pieces, marked as
 * busy.  If another thread changes the block, that thread removes the busy
 * partial from the pieces, and the hashing thread discards the leaf.
 *
 * When data is written into a block of zeros, the block is complete
 * immediately, but more writes to it are likely.  So the block is hashed only
 * when its memory is needed or released, or when the table is folded.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "blkhash.h"
#include "common/util.h"
#include "common/zero.h"
#include "construction/leaf.h"
#include "leaves/leaf-tree.h"
#include "leaves/leaves-private.h"
#include "leaves/leaves.h"
#include "leaves/pieces.h"

/* ---- The state of blocks ---- */

int
leaves_set_error_locked (struct blkhash_leaves *l, int err)
{
  if (l->error == 0)
    l->error = err;
  return l->error;
}

/* Remove a block from the pieces, and free it, unless it is busy (being
 * hashed): then the thread that hashes it frees it.  The caller sets the state
 * of the block in the tree.
 */
static void
drop_partial_locked (struct blkhash_leaves *l, struct partial *partial)
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
        drop_partial_locked (l, partial);
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

static int
store_leaves_locked (struct blkhash_leaves *l, uint64_t first, uint64_t count,
                     const unsigned char *leaves)
{
  int err;

  drop_partials_locked (l, first, count);
  l->generation++;
  err = leaf_tree_set_data (l->tree, first, count, leaves);
  if (err)
    return leaves_set_error_locked (l, err);
  if (l->once)
    l->unfolded += count;
  return 0;
}

/* Store a run of COUNT blocks, all data or all zero.  The first is BLOCK, and
 * the leaves of all follow that of the first.
 */
static int
store_run_locked (struct blkhash_leaves *l, uint64_t first, uint64_t count,
                  const struct leaf_block *block)
{
  return block->zero ? leaves_set_locked (l, first, count, LEAF_ZERO)
                     : store_leaves_locked (l, first, count, block->md);
}

int
leaves_store_locked (struct blkhash_leaves *l, uint64_t index,
                     const struct leaf_block *block)
{
  return store_run_locked (l, index, 1, block);
}

/* Called when an observation contradicts the table: make the blocks missing,
 * and record them.
 */
static int
contradict_locked (struct blkhash_leaves *l, uint64_t index, uint64_t count)
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

/* ---- Whole blocks ---- */

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

/* LEAVES is NULL for zeros. */
static int
put_leaves_locked (struct blkhash_leaves *l, uint64_t first, uint64_t count,
                   const unsigned char *leaves)
{
  int err = check_new_locked (l, first, count);

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

/* Returns the number of blocks at the start of BLOCKS, which has COUNT, that
 * are all zeros, or all data.
 */
static size_t
count_alike (const struct leaf_block *blocks, size_t count)
{
  size_t n = 1;

  while (n < count && blocks[n].zero == blocks[0].zero)
    n++;
  return n;
}

/* Store the blocks of a batch, a run at a time.  If one of them was already
 * given, EEXIST is returned before any is stored.
 */
static int
give_batch_locked (struct blkhash_leaves *l, uint64_t index,
                   const struct leaf_block *blocks, size_t count)
{
  size_t i, n;
  int err = check_new_locked (l, index, count);

  for (i = 0; i < count && err == 0; i += n) {
    n = count_alike (blocks + i, count - i);
    err = put_leaves_locked (l, index + i, n,
                             blocks[i].zero ? NULL : blocks[i].md);
  }
  return err;
}

/* BLOCKS, COUNT of them, are the observed content from block INDEX on.  Put the
 * first run of blocks that were missing, or one block that was not.  If that
 * contradicts the table, it becomes missing, because it is not known whether
 * the table or the observed content is outdated.  Store in *N the number of
 * blocks.
 */
static int
observe_run_locked (struct blkhash_leaves *l, uint64_t index,
                    const struct leaf_block *blocks, size_t count, size_t *n)
{
  struct leaf_run run = leaf_tree_run (l->tree, index);
  bool agrees = true;

  *n = 1;
  switch (run.state) {
  case LEAF_MISSING:
    *n = count_alike (blocks, MIN (run.count, count));
    return store_run_locked (l, index, *n, blocks);
  case LEAF_ZERO:
    agrees = blocks->zero;
    break;
  case LEAF_DATA:
    agrees = !blocks->zero &&
      memcmp (run.leaves, blocks->md, l->leaf_size) == 0;
    break;
  case LEAF_PARTIAL:
    agrees = partial_agrees (pieces_find (l->pieces, index), blocks->data,
                             blocks->len, 0);
    break;
  }
  if (!agrees)
    return contradict_locked (l, index, 1);
  return run.state == LEAF_PARTIAL ? leaves_store_locked (l, index, blocks) : 0;
}

static int
observe_batch_locked (struct blkhash_leaves *l, uint64_t index,
                      const struct leaf_block *blocks, size_t count)
{
  size_t i, n;
  int err = l->error;

  for (i = 0; i < count && err == 0; i += n)
    err = observe_run_locked (l, index + i, blocks + i, count - i, &n);
  return err;
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
  return op == OBSERVE ? observe_batch_locked (l, index, blocks, count)
                       : give_batch_locked (l, index, blocks, count);
}

static int
observe_zeros_locked (struct blkhash_leaves *l, uint64_t index,
                      uint64_t count)
{
  uint64_t end = index + count;
  int err = l->error;

  while (index < end && err == 0) {
    struct leaf_run run = leaf_tree_run (l->tree, index);

    run.count = MIN (run.count, end - index);
    switch (run.state) {
    case LEAF_MISSING:
      err = leaves_set_locked (l, index, run.count, LEAF_ZERO);
      break;
    case LEAF_ZERO:
      break;
    case LEAF_DATA:
      err = contradict_locked (l, index, run.count);
      break;
    case LEAF_PARTIAL:
      run.count = 1;
      if (partial_agrees (pieces_find (l->pieces, index), NULL,
                          blocks_length (l, index, 1), 0))
        err = leaves_set_locked (l, index, 1, LEAF_ZERO);
      else
        err = contradict_locked (l, index, 1);
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
  SCOPED_LOCK (&l->lock);

  return op == OBSERVE ? observe_zeros_locked (l, index, count)
                       : put_leaves_locked (l, index, count, NULL);
}

static int
forget (struct blkhash_leaves *l, uint64_t index, uint64_t count)
{
  SCOPED_LOCK (&l->lock);

  if (l->error)
    return l->error;
  return leaves_set_locked (l, index, count, LEAF_MISSING);
}

/* Can COUNT leaves of LEAF_SIZE bytes, from block FIRST on, be put? */
static bool
fits_locked (const struct blkhash_leaves *l, uint64_t first, uint64_t count,
             const unsigned char *leaves, size_t leaf_size)
{
  return l->size_known && first <= l->blocks && count <= l->blocks - first &&
    (!leaves || leaf_size == l->leaf_size);
}

int
leaves_put_leaves (struct blkhash_leaves *l, uint64_t first, uint64_t count,
                   const unsigned char *leaves, size_t leaf_size)
{
  SCOPED_LOCK (&l->lock);

  if (!fits_locked (l, first, count, leaves, leaf_size))
    return EINVAL;
  return put_leaves_locked (l, first, count, leaves);
}

/* Returns the number of leaves at the start of LEAVES, which has COUNT, that
 * are those of zeros, if ZEROS is set, or that are not.  The first byte differs
 * in most leaves: compare it before memcmp is called.
 */
static uint64_t
count_like (const unsigned char *leaves, uint64_t count, size_t leaf_size,
            const unsigned char *zero_leaf, bool zeros)
{
  uint64_t i;

  for (i = 0; i < count; i++, leaves += leaf_size)
    if ((leaves[0] == zero_leaf[0] &&
         memcmp (leaves, zero_leaf, leaf_size) == 0) != zeros)
      break;
  return i;
}

/* Put COUNT leaves.  Those that are ZERO_LEAF are stored as zeros. */
static int
put_checked_locked (struct blkhash_leaves *l, uint64_t first, uint64_t count,
                    const unsigned char *leaves, const unsigned char *zero_leaf)
{
  bool zeros = false;
  int err = 0;

  while (count > 0 && err == 0) {
    uint64_t n = count_like (leaves, count, l->leaf_size, zero_leaf, zeros);

    if (n > 0)
      err = put_leaves_locked (l, first, n, zeros ? NULL : leaves);
    first += n;
    count -= n;
    leaves += n * l->leaf_size;
    zeros = !zeros;
  }
  return err;
}

int
leaves_put_unvalidated (struct blkhash_leaves *l, uint64_t first,
                        uint64_t count, const unsigned char *leaves,
                        size_t leaf_size)
{
  const unsigned char *short_zeros = NULL;
  uint64_t full;                /* number of full blocks */
  int err;

  if (leaves_is_inherited (l))
    return EINVAL;

  SCOPED_LOCK (&l->lock);
  if (!fits_locked (l, first, count, leaves, leaf_size))
    return EINVAL;
  err = check_new_locked (l, first, count);
  if (err)
    return err;
  if (!leaves || !l->unique)
    return put_leaves_locked (l, first, count, leaves);
  full = count;
  if (count > 0 && first + count > l->size / l->block_size) {
    full--;                     /* the last one is that of the short block */
    err = leaves_short_zeros_locked (l, &short_zeros);
    if (err)
      return leaves_set_error_locked (l, err);
  }
  err = put_checked_locked (l, first, full, leaves, leaf_zero_md (l->engine));
  if (err == 0 && full < count)
    err = put_checked_locked (l, first + full, 1, leaves + full * leaf_size,
                              short_zeros);
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

/* ---- Pieces ---- */

/* What the caller has to do after it releases the lock.  An error value cannot
 * mean RETRY, because the sticky error of the table can have any value, even
 * EAGAIN from a sink.
 */
struct todo {
  struct partial *hash;         /* complete block to hash */
  bool retry;
  bool wait;                    /* for room in the budget, before the retry */
  uint64_t seen;                /* for budget_wait */
};

/* Evict PARTIAL if it is incomplete.  If it is complete, mark it as busy, and
 * return EAGAIN; then the caller must hash it and retry, as TODO says.
 */
static int
evict_locked (struct blkhash_leaves *l, struct partial *partial,
              struct todo *todo)
{
  if (!leaves_is_complete (l, partial))
    return leaves_set_locked (l, partial->index, 1, LEAF_MISSING);
  partial_set_busy (l->pieces, partial);
  todo->hash = partial;
  todo->retry = true;
  return EAGAIN;
}

/* Returns 0 if a block was hashed or evicted, or an error.  If TODO->retry is
 * set, the caller must do what TODO says, and retry.
 */
static int
make_room_locked (struct blkhash_leaves *l, struct todo *todo)
{
  struct partial *oldest;
  int err = share_make_room (l->pieces, &oldest);

  if (err == EAGAIN)
    return evict_locked (l, oldest, todo);
  todo->retry = todo->wait = err == ENOBUFS;
  return err;
}

/* Allocate a partial, and evict other partials if needed.  Returns 0 or an
 * error.  If TODO->retry is set, the caller must do what TODO says, and retry.
 */
static int
reserve_locked (struct blkhash_leaves *l, struct partial **partial,
                bool zero, struct todo *todo)
{
  while (!(*partial = pieces_reserve (l->pieces, zero, &todo->seen))) {
    int err = errno;

    if (err == ENOBUFS)
      err = make_room_locked (l, todo);
    if (err)
      return err;
  }
  return 0;
}

/* Is this busy block, which is always complete, all zero? */
static bool
busy_is_zero (const struct blkhash_leaves *l, const struct partial *partial)
{
  return !partial->has_data ||
    is_zero (partial->bytes, blocks_length (l, partial->index, 1));
}

/* Find or create the partial of a block, a part of which the caller modifies.
 * If the block was all zero, the rest of it remains known.  If it was hashed,
 * the rest becomes missing, because only the leaf was kept.  Returns 0, or an
 * error as reserve_locked.
 */
static int
open_partial_locked (struct blkhash_leaves *l, uint64_t index,
                     struct partial **partial, struct todo *todo)
{
  enum leaf_state state = leaf_tree_run (l->tree, index).state;
  struct partial *old = NULL;
  int err;

  if (state == LEAF_PARTIAL) {
    old = *partial = pieces_find (l->pieces, index);
    if (!old->busy)
      return 0;
  }
  err = reserve_locked (l, partial, state == LEAF_ZERO, todo);
  if (err == ENOMEM)
    leaves_set_error_locked (l, err);
  if (err)
    return err;
  if (leaf_tree_set (l->tree, index, 1, LEAF_PARTIAL) != 0) {
    partial_free (l->pieces, *partial);
    return leaves_set_error_locked (l, ENOMEM);
  }
  if (old) {
    /* The busy block is complete.  If it is all zero, the rest of the block
     * remains known; otherwise the rest becomes missing.
     */
    if (busy_is_zero (l, old))
      state = LEAF_ZERO;
    drop_partial_locked (l, old);
  }
  pieces_add (l->pieces, *partial, index);
  if (state == LEAF_ZERO)
    partial_zero (*partial, blocks_length (l, index, 1));
  return 0;
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

/* The leaf is discarded if the block was changed while it was hashed. */
int
leaves_hash_busy (struct blkhash_leaves *l, struct partial *partial)
{
  unsigned char leaf[BLKHASH_MAX_MD_SIZE];
  uint64_t index = partial->index;
  struct leaf_block block = {
    .data = partial->bytes, .len = blocks_length (l, index, 1), .md = leaf
  };
  int err = leaf_batch (l->engine, &block, 1);

  SCOPED_LOCK (&l->lock);
  if (err) {
    leaves_set_error_locked (l, err);
    if (pieces_find (l->pieces, index) == partial)
      pieces_remove (l->pieces, partial);
  }
  else if (pieces_find (l->pieces, index) == partial) {
    err = leaves_store_locked (l, index, &block);
    if (err == 0 && l->once)
      err = leaves_fold_early_locked (l);
  }
  if (pieces_find (l->pieces, index) != partial)
    partial_free (l->pieces, partial);
  return err;
}

/* Returns true if the observed piece must be stored.  If it contradicts the
 * table, the block becomes missing, and the piece is not stored.
 */
static bool
observe_piece_locked (struct blkhash_leaves *l, const unsigned char *buf,
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
    contradict_locked (l, index, 1);
  return false;
}

static int
store_zero_locked (struct blkhash_leaves *l, uint64_t index)
{
  int err = leaves_set_locked (l, index, 1, LEAF_ZERO);

  if (err == 0 && l->once)
    err = leaves_fold_early_locked (l);
  return err;
}

/* Called after a piece was added to the block, or the size of the image became
 * known.  A complete block without data becomes LEAF_ZERO.  Any other complete
 * block must be hashed by the caller, except a block of zeros into which data
 * was written (see the top of this file).
 */
static int
finish_if_complete_locked (struct blkhash_leaves *l, struct partial *partial,
                           struct todo *todo)
{
  if (!leaves_is_complete (l, partial))
    return 0;
  if (!partial->has_data)
    return store_zero_locked (l, partial->index);
  if (!partial->on_zeros) {
    partial_set_busy (l->pieces, partial);
    todo->hash = partial;
  }
  return 0;
}

/* Returns 0 or an error, as reserve_locked. */
static int
put_locked (struct blkhash_leaves *l, enum leaves_op op,
            const unsigned char *buf, size_t len, uint64_t index,
            size_t start, struct todo *todo)
{
  struct partial *partial;
  int err = check_new_piece_locked (l, index, len, start);

  if (err)
    return err;
  if (op == OBSERVE && !observe_piece_locked (l, buf, len, index, start))
    return l->error;
  if (!buf && leaf_tree_run (l->tree, index).state == LEAF_ZERO)
    return 0;
  err = open_partial_locked (l, index, &partial, todo);
  if (err)
    return err;
  l->generation++;
  if (pieces_put (l->pieces, partial, buf, len, start) != 0)
    return leaves_set_locked (l, index, 1, LEAF_MISSING);
  return finish_if_complete_locked (l, partial, todo);
}

static int
forget_locked (struct blkhash_leaves *l, size_t len, uint64_t index,
               size_t start, struct todo *todo)
{
  enum leaf_state state = leaf_tree_run (l->tree, index).state;
  struct partial *partial;
  int err;

  if (l->error)
    return l->error;
  if (state == LEAF_MISSING)
    return 0;
  if (state == LEAF_DATA)       /* the content of the block was not kept */
    return leaves_set_locked (l, index, 1, LEAF_MISSING);
  err = open_partial_locked (l, index, &partial, todo);
  if (err)
    return err;
  l->generation++;
  partial->on_zeros = false;
  if (pieces_forget (l->pieces, partial, len, start) != 0 ||
      partial->nr_ranges == 0)
    return leaves_set_locked (l, index, 1, LEAF_MISSING);
  return 0;
}

/* The budget has no room for the block, so the block becomes missing. */
static int
set_block_missing (struct blkhash_leaves *l, uint64_t index)
{
  SCOPED_LOCK (&l->lock);

  return l->error ? l->error : leaves_set_locked (l, index, 1, LEAF_MISSING);
}

int
leaves_put_piece (struct blkhash_leaves *l, enum leaves_op op,
                  const unsigned char *buf, size_t len,
                  uint64_t index, size_t start)
{
  if (buf && is_zero (buf, len))
    buf = NULL;
  for (;;) {
    struct todo todo = { 0 };
    int err, hash_err = 0;

    {
      SCOPED_LOCK (&l->lock);

      err = op == FORGET
        ? forget_locked (l, len, index, start, &todo)
        : put_locked (l, op, buf, len, index, start, &todo);
    }
    if (todo.hash)
      hash_err = leaves_hash_busy (l, todo.hash);
    if (hash_err)
      return hash_err;
    if (!todo.retry)
      return err;
    if (todo.wait && !budget_wait (l->pieces->budget, todo.seen))
      return op == OBSERVE ? 0 : set_block_missing (l, index);
  }
}

int
leaves_end_piece (struct blkhash_leaves *l, uint64_t index)
{
  struct todo todo = { 0 };
  int err = 0;

  {
    SCOPED_LOCK (&l->lock);
    struct partial *partial = pieces_find (l->pieces, index);

    if (partial && !partial->busy)
      err = finish_if_complete_locked (l, partial, &todo);
  }
  return todo.hash ? leaves_hash_busy (l, todo.hash) : err;
}
