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

#include "construction/construction.h"
#include "leaves/leaf-tree.h"
#include "leaves/pieces.h"
#include "leaves/sink.h"

struct blkhash_opts;
struct digest;
struct leaf_block;
struct leaf_engine;
struct outer;
struct partial;

struct blkhash_leaves {
  /* SIZE is set before SIZE_KNOWN is, which is under the lock; both are read
   * without it by leaves_size.
   */
  atomic_bool size_known;
  uint64_t size;                /* of the image, bytes */

  /* Set once. */
  size_t block_size;            /* bytes */
  size_t leaf_size;             /* bytes */
  struct construction construction;
  bool once;                    /* BLKHASH_LEAVES_ONCE */
  bool no_sum;                  /* BLKHASH_LEAVES_NO_SUM */
  struct digest *digest;
  struct leaf_engine *engine;

  pthread_mutex_t lock;         /* protects all below */
  uint64_t given_end;           /* end of the ranges given while the size was
                                 * unknown */
  uint64_t blocks;              /* of leaves_size */
  struct leaf_tree *tree;
  struct pieces_budget own_budget; /* of the pieces, unless it is shared */
  struct pieces *pieces;        /* the blocks that are LEAF_PARTIAL */
  uint64_t generation;          /* grows with every change */
  size_t contradictions;        /* observations that contradicted; atomic */
  int error;                    /* sticks: leaves may be wrong or lost */

  /* In a table that is given once, leaves before FOLDED are in OUTER and
   * removed from the tree; only the thread that set FOLDING uses OUTER and
   * SINK, without the lock.  In any other table each fold copies SINK, and
   * FOLDING is set while a fold calls it.
   */
  struct outer *outer;          /* NULL with NO_SUM */
  struct sink sink;
  uint64_t folded;              /* blocks */
  uint64_t unfolded;            /* leaves in the tree */
  uint64_t folded_data, folded_zero; /* bytes before FOLDED */
  bool folding, finished;
  pthread_cond_t folding_ended; /* or UNFOLDED has fallen to the limit */
};

/* While the size is unknown the image has the maximum size.  All ranges lie
 * within it, also when the size becomes known.
 */
static inline uint64_t
leaves_size (const struct blkhash_leaves *l)
{
  return l->size_known ? l->size : UINT64_MAX;
}

/* The length in bytes of COUNT blocks from INDEX on: only the last block of
 * the image can be shorter.
 */
static inline uint64_t
blocks_length (const struct blkhash_leaves *l, uint64_t index,
               uint64_t count)
{
  uint64_t left = leaves_size (l) - index * l->block_size;

  return count > left / l->block_size ? left : count * l->block_size;
}

#define LEAVES_BATCH 64         /* blocks that are hashed at once */

/* How a range changes the table: GIVE replaces the content; OBSERVE adds
 * content that was read, and detects contradictions; FORGET makes it missing.
 */
enum how { GIVE, OBSERVE, FORGET };

/* SIZE can be BLKHASH_SIZE_UNKNOWN. */
void leaves_init_size (struct blkhash_leaves *l, uint64_t size);

/* Begin a call on *LEN bytes at OFFSET: EINVAL if they are not in the image.
 * While the size is unknown, no smaller size can be set from now on.  A range
 * to forget is cut at the end of the ranges given.
 */
int leaves_enter_range (struct blkhash_leaves *l, enum how how,
                        uint64_t offset, uint64_t *len);

/* COUNT blocks from INDEX: data in BUF, at most LEAVES_BATCH blocks then, or
 * zeros if it is NULL.
 */
int leaves_put_blocks (struct blkhash_leaves *l, enum how how,
                       const unsigned char *buf,
                       uint64_t index, uint64_t count);

/* LEN bytes, less than a block, at START of the block INDEX. */
int leaves_put_piece (struct blkhash_leaves *l, enum how how,
                      const unsigned char *buf, size_t len,
                      uint64_t index, size_t start);

/* The size became known: the last block, if it is partial, may be complete. */
int leaves_end_piece (struct blkhash_leaves *l, uint64_t index);

/* Set blocks to LEAF_MISSING or LEAF_ZERO, or store a leaf, replacing their
 * state.
 */
int leaves_set_locked (struct blkhash_leaves *l, uint64_t first,
                       uint64_t count, enum leaf_state state);
int leaves_store_locked (struct blkhash_leaves *l, uint64_t index,
                         const struct leaf_block *block);

/* An observation contradicts the table: make the blocks missing, and count it.
 */
int leaves_contradict_locked (struct blkhash_leaves *l, uint64_t index,
                              uint64_t count);

/* Is all of the block known? */
static inline bool
leaves_is_complete (const struct blkhash_leaves *l,
                    const struct partial *partial)
{
  return partial_covers (partial, blocks_length (l, partial->index, 1), 0);
}

/* Hash a complete block, which the caller has set busy. */
int leaves_hash_busy (struct blkhash_leaves *l, struct partial *partial);

/* Remove a block from the pieces.  The caller sets the tree. */
void leaves_drop_partial_locked (struct blkhash_leaves *l,
                                 struct partial *partial);

/* Record an error after which leaves can be wrong.  Returns the first error. */
int leaves_stick_locked (struct blkhash_leaves *l, int err);

/* Fold the leaves before the first missing block.  Called with the lock, which
 * it releases meanwhile.  Returns the error of the table.  Only for a table
 * that is given once.
 */
int leaves_fold_early_locked (struct blkhash_leaves *l);

/* Fold COUNT blocks with LEAVES, the first ones missing, without storing them
 * in the tree.  Called with the lock, which it releases meanwhile; no other
 * thread may be folding.  Only for a table that is given once.
 */
int leaves_fold_next_locked (struct blkhash_leaves *l, uint64_t count,
                             const unsigned char *leaves);

/* Hash the complete blocks among the pieces.  ENODATA if a block is incomplete,
 * or an error of the table.
 */
int leaves_hash_complete (struct blkhash_leaves *l);

/* For struct pieces: release the memory of the oldest block, by hashing it if
 * it is complete, or else by evicting it.  Does not wait for the lock of the
 * table.
 */
bool leaves_evict_oldest (void *opaque);

#endif /* BLKHASH_LEAVES_PRIVATE_H */
