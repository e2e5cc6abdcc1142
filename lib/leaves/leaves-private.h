/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The internals of a leaf table.  leaves.c cuts ranges into blocks and pieces,
 * which leaves-blocks.c and leaves-pieces.c store; leaves-release.c releases
 * the memory of pieces, leaves-size.c handles the size of the image,
 * leaves-query.c reports missing ranges, and leaves-fold.c computes the digest.
 */

#ifndef BLKHASH_LEAVES_PRIVATE_H
#define BLKHASH_LEAVES_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash.h"
#include "construction/opts.h"
#include "leaves/leaf-tree.h"
#include "leaves/pieces.h"

/* Pass leaves (digests of blocks), in order, to the callbacks of a program.
 *
 * Zeros are held back until the run of zeros ends, so that a run is one call,
 * unless sink_end is called earlier.
 *
 * A sink is used by one thread at a time.
 */

struct sink {
  struct blkhash_leaf_sink user; /* the callbacks, which are NULL if the
                                  * program passed none */
  size_t leaf_size;             /* bytes */
  uint64_t next;                /* index of the next block */
  uint64_t zeros;               /* number of zero blocks before NEXT that are
                                 * held back */
};

/* USER is copied.  It is NULL if the program passed no callbacks; then the
 * other functions only count the blocks.
 */
void sink_init (struct sink *sink, const struct blkhash_leaf_sink *user,
                size_t leaf_size);

/* Returns true if there are callbacks. */
bool sink_is_used (const struct sink *sink);

/* Pass the next COUNT blocks: data, whose leaves are in the array LEAVES; or
 * zeros, which are held back.  Returns 0, or the error of the callback.
 */
int sink_data (struct sink *sink, const unsigned char *leaves, size_t count);
int sink_zeros (struct sink *sink, uint64_t count);

/* Returns true if any zeros are held back. */
bool sink_has_zeros (const struct sink *sink);

/* Pass the zeros that are held back.  Zeros after them are a new run.  Returns
 * 0, or the error of the callback.
 */
int sink_end (struct sink *sink);

struct blkhash_opts;
struct digest;
struct leaf_block;
struct leaf_engine;
struct outer;
struct partial;

#define LEAVES_CONTRADICTED 64  /* maximum number of recorded ranges */

struct blkhash_leaves {
  /* SIZE is set before SIZE_KNOWN, both under the lock.  SIZE_KNOWN can be read
   * without the lock, and so can SIZE if SIZE_KNOWN is set.
   */
  atomic_bool size_known;
  uint64_t size;                /* size of the image in bytes */

  /* Set once. */
  size_t block_size;            /* bytes */
  size_t leaf_size;             /* bytes */
  struct construction construction;
  bool once;                    /* BLKHASH_LEAVES_ONCE: no byte is set twice */
  bool no_sum;                  /* BLKHASH_LEAVES_NO_SUM */
  struct digest *digest;
  struct leaf_engine *engine;

  pthread_mutex_t completing;   /* held by the fold that hashes the partial
                                 * blocks; taken before LOCK */
  pthread_mutex_t lock;         /* protects all fields below, and the objects
                                 * TREE and PIECES */
  uint64_t given_end;           /* end of the ranges that were given or observed
                                 * while the size was unknown */
  uint64_t blocks;              /* number of blocks in leaves_size (l); can be
                                 * read without the lock when the size is known
                                 */
  struct leaf_tree *tree;
  struct pieces_budget own_budget; /* budget of PIECES, unless the table shares
                                    * a budget with other tables; a budget has
                                    * its own locks */
  struct pieces *pieces;        /* the blocks that are LEAF_PARTIAL */
  uint64_t generation;          /* incremented by every change */
  /* Ranges that observations have contradicted, for leaves_next_contradiction.
   * If there were too many, NR_CONTRADICTED is LEAVES_CONTRADICTED + 1.
   * NR_CONTRADICTED is changed under the lock, and read atomically without the
   * lock.
   */
  struct contradicted {
    uint64_t index, count;      /* blocks */
  } contradicted[LEAVES_CONTRADICTED];
  size_t nr_contradicted;
  int error;                    /* sticky: leaves may be wrong or lost */

  /* In a table with ONCE, the leaves of blocks before FOLDED are folded into
   * OUTER and removed from the tree.  While FOLDING is set, only the thread
   * that has set it uses OUTER and SINK, without the lock.  In a table without
   * ONCE, each fold uses a copy of SINK, and FOLDING is set during a fold if
   * SINK has callbacks.
   */
  struct outer *outer;          /* NULL with NO_SUM, and without ONCE */
  struct sink sink;
  uint64_t folded;              /* number of blocks */
  uint64_t unfolded;            /* leaves of data in the tree; only counted with
                                 * ONCE */
  uint64_t folded_data, folded_zero; /* bytes of data and zeros before FOLDED */
  bool folding, finished;       /* FINISHED: blkhash_leaves_fold succeeded */
  pthread_cond_t folding_ended; /* signaled when FOLDING is cleared, or UNFOLDED
                                 * has fallen to half of MAX_UNFOLDED (see
                                 * leaves-fold.c) */
};

/* Returns the size of the image, or the maximum size while it is unknown.  All
 * ranges that leaves_enter_range accepted lie within this size, even if the
 * size of the image becomes known during a call.
 */
static inline uint64_t
leaves_size (const struct blkhash_leaves *l)
{
  return l->size_known ? l->size : UINT64_MAX;
}

/* Returns the length in bytes of COUNT blocks from block INDEX on.  Only the
 * last block of the image can be shorter than the block size.
 */
static inline uint64_t
blocks_length (const struct blkhash_leaves *l, uint64_t index,
               uint64_t count)
{
  uint64_t left = leaves_size (l) - index * l->block_size;

  return count > left / l->block_size ? left : count * l->block_size;
}

#define LEAVES_BATCH 64         /* maximum number of blocks of data in a call of
                                 * leaves_put_blocks */

/* How a range changes the table: GIVE replaces the content; OBSERVE adds
 * content that was read, and detects contradictions; FORGET makes the range
 * missing.
 */
enum leaves_op { GIVE, OBSERVE, FORGET };

/* Set the size of the image to SIZE bytes, or to BLKHASH_SIZE_UNKNOWN. */
void leaves_init_size (struct blkhash_leaves *l, uint64_t size);

/* Begin a call on *LEN bytes at OFFSET.  Returns 0, or EINVAL if they are not
 * in the image.  While the size is unknown, a range to give or observe is
 * recorded, so that the size cannot later be set to less than its end; and a
 * range to forget is cut at the end of all ranges that were given or observed.
 */
int leaves_enter_range (struct blkhash_leaves *l, enum leaves_op op,
                        uint64_t offset, uint64_t *len);

/* Put COUNT blocks from block INDEX on.  BUF has their data, and COUNT is at
 * most LEAVES_BATCH.  If BUF is NULL, the blocks are zero, or become missing
 * with FORGET, and COUNT is not limited.
 */
int leaves_put_blocks (struct blkhash_leaves *l, enum leaves_op op,
                       const unsigned char *buf,
                       uint64_t index, uint64_t count);

/* Put LEN bytes, less than a block, at offset START in block INDEX.  BUF is
 * NULL for zeros and for FORGET.
 */
int leaves_put_piece (struct blkhash_leaves *l, enum leaves_op op,
                      const unsigned char *buf, size_t len,
                      uint64_t index, size_t start);

/* Called when the size became known: if block INDEX, the last one, is partial,
 * it may now be complete, and is then stored or hashed.
 */
int leaves_end_piece (struct blkhash_leaves *l, uint64_t index);

/* Set blocks to LEAF_MISSING or LEAF_ZERO, or to the result of leaf_batch for
 * BLOCK.  The blocks can be in any state before.
 */
int leaves_set_locked (struct blkhash_leaves *l, uint64_t first,
                       uint64_t count, enum leaf_state state);
int leaves_store_locked (struct blkhash_leaves *l, uint64_t index,
                         const struct leaf_block *block);

/* Called when an observation contradicts the table: make the blocks missing,
 * and record them.
 */
int leaves_contradict_locked (struct blkhash_leaves *l, uint64_t index,
                              uint64_t count);

/* Returns true if all bytes of the block are known. */
static inline bool
leaves_is_complete (const struct blkhash_leaves *l,
                    const struct partial *partial)
{
  return partial_covers (partial, blocks_length (l, partial->index, 1));
}

/* Hash a complete block, which the caller has set busy, store its leaf, and
 * free PARTIAL.  The caller does not hold the lock.
 */
int leaves_hash_busy (struct blkhash_leaves *l, struct partial *partial);

/* Remove a block from the pieces, and free it unless it is busy.  The caller
 * sets the state of the block in the tree.
 */
void leaves_drop_partial_locked (struct blkhash_leaves *l,
                                 struct partial *partial);

/* Record an error after which leaves can be wrong.  Returns the first error
 * that was recorded.
 */
int leaves_set_error_locked (struct blkhash_leaves *l, int err);

/* Fold the leaves before the first missing block.  The caller holds the lock,
 * which is released during the call.  Returns 0, or the error of the table.
 * Only for a table with ONCE.
 */
int leaves_fold_early_locked (struct blkhash_leaves *l);

/* Fold the next COUNT blocks, whose leaves are LEAVES, without storing them in
 * the tree.  They must begin at the first missing block.  The caller holds the
 * lock, which is released during the call.  No other thread may be folding.
 * Only for a table with ONCE.
 */
int leaves_fold_next_locked (struct blkhash_leaves *l, uint64_t count,
                             const unsigned char *leaves);

/* Hash the partial blocks that are complete, from the oldest to the first that
 * is incomplete.  Returns 0, ENODATA if a block is incomplete, or an error of
 * the table.
 */
int leaves_hash_complete (struct blkhash_leaves *l);

/* Callback for struct pieces: release the memory of the oldest block, by
 * hashing it if it is complete, or evicting it.  Returns false if there is no
 * block, or if another thread holds the lock of the table.
 */
bool leaves_evict_oldest (void *opaque);

#endif /* BLKHASH_LEAVES_PRIVATE_H */
