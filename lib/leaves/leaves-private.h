/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The internals of the leaf table, which collects the content of an image in
 * any order, from any thread, and folds the leaves to the digest of the image.
 *
 * The tree has the state and the leaf of each block; the pieces have the
 * content of partial blocks.  leaves.c creates the table, cuts ranges into
 * whole blocks and pieces of blocks, and answers what is missing;
 * leaves-blocks.c hashes the blocks without the lock, or copies the pieces, and
 * stores them; leaves-fold.c computes the digest.
 *
 * After an operation has failed midway, the table can have leaves of outdated
 * content.  So the error is sticky: later calls that give, forget or fold
 * content, or query what is missing, return the same error, and no digest is
 * ever computed from the table.
 */

#ifndef BLKHASH_LEAVES_PRIVATE_H
#define BLKHASH_LEAVES_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blkhash.h"
#include "common/fork.h"
#include "construction/opts.h"
#include "leaves/leaf-tree.h"
#include "leaves/pieces.h"

/* Passes leaves, in order, to the callbacks of a program: see leaves-fold.c.
 * It is used by one thread at a time.
 */
struct sink {
  struct blkhash_leaf_sink user; /* the callbacks, which are NULL if the
                                  * program passed none */
  size_t leaf_size;             /* bytes */
  uint64_t next;                /* index of the next block */
  uint64_t zeros;               /* number of zero blocks before NEXT that are
                                 * held back */
};

struct digest;
struct leaf_block;
struct leaf_engine;
struct outer;

#define LEAVES_CONTRADICTED 64  /* maximum number of recorded ranges */

struct blkhash_leaves {
  /* SIZE is set before SIZE_KNOWN, both under the lock.  SIZE_KNOWN can be read
   * without the lock, and so can SIZE if SIZE_KNOWN is set.
   */
  atomic_bool size_known;
  uint64_t size;                /* size of the image in bytes */

  /* Set once. */
  unsigned fork_generation;     /* see fork.h */
  size_t block_size;            /* bytes */
  size_t leaf_size;             /* bytes */
  struct construction construction;
  bool once;                    /* BLKHASH_LEAVES_ONCE: no byte is set twice */
  bool no_sum;                  /* BLKHASH_LEAVES_NO_SUM */
  bool unique;                  /* the digest is cryptographic, so no data has
                                 * the leaf of zeros */
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
  /* The leaf of a short last block of zeros, if SHORT_HASHED is set. */
  unsigned char short_zeros[BLKHASH_MAX_MD_SIZE];
  bool short_hashed;
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

/* Was the table created by a parent of this process?  Then its locks may be
 * held for ever, and the functions of the API return at once.
 */
static inline bool
leaves_is_inherited (const struct blkhash_leaves *l)
{
  return fork_is_inherited (l->fork_generation);
}

/* Returns the size of the image, or the maximum size while it is unknown.  All
 * ranges that enter_range (leaves.c) accepted lie within this size, even if the
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

/* ---- leaves-blocks.c ---- */

#define LEAVES_BATCH 64         /* maximum number of blocks of data in a call of
                                 * leaves_put_blocks */

/* How a range changes the table: GIVE replaces the content; OBSERVE adds
 * content that was read, and detects contradictions; FORGET makes the range
 * missing.
 */
enum leaves_op { GIVE, OBSERVE, FORGET };

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

/* Record an error after which leaves can be wrong.  Returns the first error
 * that was recorded.
 */
int leaves_set_error_locked (struct blkhash_leaves *l, int err);

/* ---- leaves.c ---- */

/* Hash the partial blocks that are complete, from the oldest to the first that
 * is incomplete.  Returns 0, ENODATA if a block is incomplete, or an error of
 * the table.
 */
int leaves_hash_complete (struct blkhash_leaves *l);

/* ---- leaves-fold.c ---- */

/* Fold the leaves before the first missing block.  The caller holds the lock,
 * which is released during the call.  Returns 0, or the error of the table.
 * Only for a table with ONCE.
 */
int leaves_fold_early_locked (struct blkhash_leaves *l);

/* Set *LEAF to the leaf of a short last block of zeros.  The image must have
 * such a block.  The leaf is hashed only once, because folds and programs that
 * put leaves need it again and again.  Returns 0, ENOMEM or EIO.
 */
int leaves_short_zeros_locked (struct blkhash_leaves *l,
                               const unsigned char **leaf);

/* Fold the next COUNT blocks, whose leaves are LEAVES, without storing them in
 * the tree.  They must begin at the first missing block.  The caller holds the
 * lock, which is released during the call.  No other thread may be folding.
 * Only for a table with ONCE.
 */
int leaves_fold_next_locked (struct blkhash_leaves *l, uint64_t count,
                             const unsigned char *leaves);

#endif /* BLKHASH_LEAVES_PRIVATE_H */
