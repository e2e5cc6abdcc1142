/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaf table: compute the sum of the image from the leaves, in order, and
 * pass the leaves to the sink.
 *
 * Leaves are copied out of the tree a batch at a time.  The lock is not held
 * while the outer hash or a sink runs, because folding a huge hole takes a long
 * time.
 *
 * A table with BLKHASH_LEAVES_ONCE is folded early: the thread that gives a
 * block folds until it reaches a missing block, unless another thread is
 * folding.  In any other table, each call folds from the first leaf, and fails
 * with EBUSY if the table changes meanwhile.  Each fold first hashes the
 * partial blocks that are complete, which counts as a change.  But concurrent
 * folds do not make each other fail, because only one at a time hashes these
 * blocks, and the others find none left.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "blkhash.h"
#include "common/util.h"
#include "construction/leaf.h"
#include "construction/outer.h"
#include "leaves/leaf-tree.h"
#include "leaves/leaves-private.h"
#include "leaves/leaves.h"

/* ---- The sink ----
 *
 * Leaves are passed, in order, to the callbacks of a program.  A run of zeros
 * is held back until its end is known, so that it is one call, or until
 * sink_end is called.  That is called within a run only if no sum is computed.
 * Otherwise the calls for zeros depend only on the image, and not on the order
 * in which its parts were hashed.  Leaves of data are passed as they come.
 */

/* USER is copied.  It is NULL if the program passed no callbacks; then the
 * other functions only count the blocks.
 */
static void
sink_init (struct sink *sink, const struct blkhash_leaf_sink *user,
           size_t leaf_size)
{
  *sink = (struct sink) { .leaf_size = leaf_size };
  if (user)
    sink->user = *user;
}

static bool
sink_is_used (const struct sink *sink)
{
  return sink->user.data != NULL;
}

/* Returns true if any zeros are held back. */
static bool
sink_has_zeros (const struct sink *sink)
{
  return sink->zeros > 0;
}

/* Pass the zeros that are held back.  Zeros after them are a new run.  Returns
 * 0, or the error of the callback.
 */
static int
sink_end (struct sink *sink)
{
  uint64_t zeros = sink->zeros;

  sink->zeros = 0;
  if (zeros == 0 || !sink_is_used (sink))
    return 0;
  return sink->user.zero (sink->user.opaque, sink->next - zeros, zeros);
}

/* Pass the next COUNT blocks, whose leaves are in the array LEAVES. */
static int
sink_data (struct sink *sink, const unsigned char *leaves, size_t count)
{
  uint64_t index = sink->next;
  int err = sink_end (sink);

  sink->next += count;
  if (err || !sink_is_used (sink))
    return err;
  return sink->user.data (sink->user.opaque, index, count, leaves,
                          sink->leaf_size);
}

/* Hold back the next COUNT blocks, which are zeros. */
static void
sink_zeros (struct sink *sink, uint64_t count)
{
  sink->next += count;
  sink->zeros += count;
}

/* ---- Batches of leaves ---- */

#define BATCH_LEAVES 64
#define MAX_UNFOLDED 32768      /* limit of unfolded leaves while a thread
                                 * folds */
#define BATCH_ZEROS (1u << 20)  /* blocks: about 16 ms of hashing for sha256 */

/* Consecutive leaves.  For full zero blocks only ZEROS, their number, is set;
 * otherwise ZEROS is 0, and LEAVES has COUNT leaves.  ZERO is set for all zero
 * blocks, also for a short last block, whose leaf is in LEAVES.
 */
struct fold_batch {
  uint64_t zeros;
  size_t count;
  bool zero;
  unsigned char leaves[BATCH_LEAVES * BLKHASH_MAX_MD_SIZE];
};

int
leaves_short_zeros_locked (struct blkhash_leaves *l,
                           const unsigned char **leaf)
{
  int err = 0;

  *leaf = l->short_zeros;
  if (!l->short_hashed)
    err = leaf_hash_zeros (l->engine, l->size % l->block_size, l->short_zeros);
  l->short_hashed = err == 0;
  return err;
}

/* Copy leaves from block INDEX on.  Returns EBUSY if the block was zeros, data
 * was written into it, and it is not hashed yet.  Returns ENODATA if the block
 * is missing, or is any other partial block.
 */
static int
take_batch_locked (struct blkhash_leaves *l, uint64_t index,
                   struct fold_batch *batch)
{
  struct leaf_run run = leaf_tree_run (l->tree, index);
  uint64_t full = leaves_size (l) / l->block_size;
  const unsigned char *leaf;
  int err;

  batch->zeros = batch->count = 0;
  batch->zero = run.state == LEAF_ZERO;
  switch (run.state) {
  case LEAF_DATA:
    batch->count = run.count;
    memcpy (batch->leaves, run.leaves, run.count * l->leaf_size);
    return 0;
  case LEAF_ZERO:
    if (index == full) {        /* the leaf of the short last block is
                                 * different */
      batch->count = 1;
      err = leaves_short_zeros_locked (l, &leaf);
      if (err == 0)
        memcpy (batch->leaves, leaf, l->leaf_size);
      return err;
    }
    batch->zeros = MIN (run.count, full - index);
    if (!l->no_sum)
      batch->zeros = MIN (batch->zeros, BATCH_ZEROS);
    return 0;
  case LEAF_PARTIAL:
    if (pieces_find (l->pieces, index)->on_zeros)
      return EBUSY;
    break;
  case LEAF_MISSING:
    break;
  }
  return ENODATA;
}

/* OUTER is NULL if no sum is computed. */
static int
fold_batch (struct outer *outer, struct sink *sink,
            const struct fold_batch *batch)
{
  int err = 0;

  if (outer)
    err = batch->zeros ? outer_zeros (outer, batch->zeros)
                       : outer_leaves (outer, batch->leaves, batch->count);
  if (err)
    return err;
  if (!batch->zero)
    return sink_data (sink, batch->leaves, batch->count);
  sink_zeros (sink, batch->zeros + batch->count);
  return 0;
}

/* ---- Fold early: with ONCE ---- */

/* Other threads may hash blocks faster than the folding thread folds their
 * leaves.  They wait here while too many leaves are unfolded.  The folding
 * thread never waits.
 */
static void
wait_for_folding_locked (struct blkhash_leaves *l)
{
  if (l->unfolded <= MAX_UNFOLDED)
    return;
  while (l->folding && l->unfolded > MAX_UNFOLDED / 2)
    pthread_cond_wait (&l->folding_ended, &l->lock);
}

static void
folded_locked (struct blkhash_leaves *l, uint64_t leaves)
{
  bool many = l->unfolded > MAX_UNFOLDED / 2;

  l->unfolded -= leaves;
  if (many && l->unfolded <= MAX_UNFOLDED / 2)
    pthread_cond_broadcast (&l->folding_ended);
}

static void
end_folding_locked (struct blkhash_leaves *l)
{
  l->folding = false;
  pthread_cond_broadcast (&l->folding_ended);
}

/* Make the sink pass on the zeros that it holds back, although their run may
 * continue.  Called only if no sum is computed.  The lock is released during
 * the call, so more blocks may be known on return.
 */
static void
report_zeros_locked (struct blkhash_leaves *l)
{
  int err;

  pthread_mutex_unlock (&l->lock);
  err = sink_end (&l->sink);
  pthread_mutex_lock (&l->lock);
  if (err)
    leaves_set_error_locked (l, err);
}

int
leaves_fold_early_locked (struct blkhash_leaves *l)
{
  struct fold_batch batch;

  if (l->folding) {
    wait_for_folding_locked (l); /* the folding thread folds our blocks, too */
    return l->error;
  }
  l->folding = true;
  while (l->error == 0 && l->folded < l->blocks) {
    uint64_t n;
    int err = take_batch_locked (l, l->folded, &batch);

    if (err == ENODATA && (!l->no_sum || !sink_has_zeros (&l->sink)))
      break;
    if (err == ENODATA) {
      report_zeros_locked (l);
      continue;
    }
    n = batch.zeros + batch.count;
    if (err == 0)
      err = leaf_tree_set (l->tree, l->folded, n, LEAF_MISSING);
    if (err == 0) {
      *(batch.zero ? &l->folded_zero : &l->folded_data) +=
        blocks_length (l, l->folded, n);
      l->folded += n;
      if (!batch.zero)
        folded_locked (l, n);
      pthread_mutex_unlock (&l->lock);
      err = fold_batch (l->outer, &l->sink, &batch);
      pthread_mutex_lock (&l->lock);
    }
    if (err)
      leaves_set_error_locked (l, err);
  }
  end_folding_locked (l);
  return l->error;
}

int
leaves_fold_next_locked (struct blkhash_leaves *l, uint64_t count,
                         const unsigned char *leaves)
{
  int err;

  l->folding = true;
  l->folded_data += blocks_length (l, l->folded, count);
  l->folded += count;
  pthread_mutex_unlock (&l->lock);
  err = l->outer ? outer_leaves (l->outer, leaves, count) : 0;
  if (err == 0)
    err = sink_data (&l->sink, leaves, count);
  pthread_mutex_lock (&l->lock);
  end_folding_locked (l);
  return err ? leaves_set_error_locked (l, err) : l->error;
}

/* If all leaves are already folded, pass the last zeros to the sink, and
 * compute the digest.
 */
static int
finish_early_fold (struct blkhash_leaves *l, unsigned char *md)
{
  int err;
  SCOPED_LOCK (&l->lock);

  while (l->folding)
    pthread_cond_wait (&l->folding_ended, &l->lock);
  if (l->finished)
    return EINVAL;
  if (l->error)
    return l->error;
  if (!l->size_known || l->folded < l->blocks)
    return ENODATA;
  l->folding = true;
  pthread_mutex_unlock (&l->lock);
  err = sink_end (&l->sink);
  pthread_mutex_lock (&l->lock);
  end_folding_locked (l);
  if (err == 0 && l->outer)
    err = outer_final (l->outer, l->size, md);
  if (err)
    leaves_set_error_locked (l, err);
  l->finished = l->error == 0;
  return l->error;
}

/* ---- Fold from the first leaf: without ONCE ---- */

/* Fold all leaves.  Returns EBUSY if the table changes during the fold. */
static int
fold_all (struct blkhash_leaves *l, struct outer *outer, struct sink *sink)
{
  uint64_t index, generation = 0;
  struct fold_batch batch;

  for (index = 0; index < l->blocks; index += batch.zeros + batch.count) {
    int err;

    {
      SCOPED_LOCK (&l->lock);

      if (index == 0)
        generation = l->generation;
      if (l->error)
        return l->error;
      if (l->generation != generation)
        return EBUSY;
      err = take_batch_locked (l, index, &batch);
    }
    if (err == 0)
      err = fold_batch (outer, sink, &batch);
    if (err == 0 && !outer)
      err = sink_end (sink);    /* pass zeros after each batch: one callback
                                 * for a long run of zeros would take long, and
                                 * changes are detected only between batches */
    if (err)
      return err;
  }
  /* The table may have changed during the last batch. */
  SCOPED_LOCK (&l->lock);
  if (l->error)
    return l->error;
  return l->blocks > 0 && l->generation != generation ? EBUSY : 0;
}

/* Fold from the first leaf.  If MD is NULL, the leaves are only passed to the
 * sink.
 */
static int
fold_anew (struct blkhash_leaves *l, struct sink *sink, unsigned char *md)
{
  struct outer *outer = NULL;
  uint64_t start, len;
  int err;

  /* Check for missing blocks first, because one near the end would be found
   * only after minutes of hashing.
   */
  if (blkhash_leaves_next_missing (l, 0, &start, &len) == 0)
    return ENODATA;
  {
    SCOPED_LOCK (&l->completing);

    err = leaves_hash_complete (l);
  }
  if (err)
    return err;
  if (md) {
    outer = outer_create (l->digest, &l->construction,
                          leaf_zero_md (l->engine));
    if (!outer)
      return errno;
  }
  err = fold_all (l, outer, sink);
  if (err == 0)
    err = sink_end (sink);
  if (err == 0 && md)
    err = outer_final (outer, l->size, md);
  outer_free (outer);
  return err;
}

/* If there is a sink, the folds of several threads run one after the other. */
static int
fold_in_turn (struct blkhash_leaves *l, unsigned char *md)
{
  struct sink sink;
  int err;

  {
    SCOPED_LOCK (&l->lock);

    if (!l->size_known)
      return ENODATA;
    while (l->folding)
      pthread_cond_wait (&l->folding_ended, &l->lock);
    sink = l->sink;
    l->folding = sink_is_used (&sink);
  }
  err = fold_anew (l, &sink, md);
  if (sink_is_used (&sink)) {
    SCOPED_LOCK (&l->lock);

    end_folding_locked (l);
  }
  return err;
}

/* ---- The API ---- */

static void
store_result (const struct blkhash_leaves *l, const unsigned char *result,
              unsigned char *md, unsigned int *len)
{
  unsigned size = l->no_sum ? 0 : l->leaf_size;

  if (size > 0)
    memcpy (md, result, size);
  if (len)
    *len = size;
}

int
blkhash_leaves_fold (struct blkhash_leaves *l, unsigned char *md,
                     unsigned int *len)
{
  unsigned char result[BLKHASH_MAX_MD_SIZE];
  int err;

  if (leaves_is_inherited (l))
    return EINVAL;
  err = l->once ? finish_early_fold (l, result) : fold_in_turn (l, result);
  if (err == 0)
    store_result (l, result, md, len);
  return err;
}

int
leaves_fold_to (struct blkhash_leaves *l, const struct blkhash_leaf_sink *user)
{
  struct sink sink;

  if (l->once)
    return EINVAL;
  if (!l->size_known)
    return ENODATA;
  sink_init (&sink, user, l->leaf_size);
  return fold_anew (l, &sink, NULL);
}

int
blkhash_leaves_set_sink (struct blkhash_leaves *l,
                         const struct blkhash_leaf_sink *sink)
{
  static const struct blkhash_leaf_sink none;

  if (leaves_is_inherited (l))
    return EINVAL;

  SCOPED_LOCK (&l->lock);
  if (sink && (!sink->data || !sink->zero ||
               memcmp (sink->reserved, none.reserved,
                       sizeof none.reserved) != 0))
    return EINVAL;
  if (l->folding || l->folded > 0 || l->finished)
    return EINVAL;
  sink_init (&l->sink, sink, l->leaf_size);
  return 0;
}
