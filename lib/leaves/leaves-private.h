/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of a leaf table, shared by leaves.c, which is told what is in the
 * image and leaves it to leaves-blocks.c and leaves-pieces.c; leaves-release.c,
 * which gives the memory of pieces back; leaves-size.c, which knows how large
 * the image is; leaves-query.c, which tells what is known; and leaves-fold.c,
 * which makes the digest of it.
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
  uint64_t given_end;           /* where what was given before the size ends */
  uint64_t blocks;              /* of leaves_size */
  struct leaf_tree *tree;
  struct pieces_budget own_budget; /* of the pieces, unless it is shared */
  struct pieces *pieces;        /* those that the tree calls LEAF_PARTIAL */
  uint64_t generation;          /* grows with every change */
  size_t contradictions;        /* looks that made a block missing; atomic */
  int error;                    /* what the table says may be wrong */

  /* Of a table that is given once: leaves before FOLDED are in OUTER already
   * and gone from the tree.  The thread that set FOLDING, and no other, uses
   * OUTER and SINK, without the lock.  Of any other table SINK is only who is
   * to be told, and FOLDING that somebody is.
   */
  struct outer *outer;          /* NULL with NO_SUM */
  struct sink sink;
  uint64_t folded;              /* blocks */
  uint64_t unfolded;            /* leaves in the tree */
  uint64_t folded_data, folded_zero; /* bytes before FOLDED */
  bool folding, finished;
  pthread_cond_t folding_ended; /* or there are less unfolded */
};

/* The image, as long as its size is not known, is as large as any can be.  The
 * ranges of all calls lie within it, and stay so when it becomes known.
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

/* What a range is: given, by somebody who says what is so from now on;
 * learnt, by somebody who looked; or forgotten.
 */
enum how { GIVE, OBSERVE, FORGET };

/* SIZE can be BLKHASH_SIZE_UNKNOWN. */
void leaves_init_size (struct blkhash_leaves *l, uint64_t size);

/* Begin a call on *LEN bytes at OFFSET: EINVAL if they are not in the image,
 * else they are in it from now on.  What is to be forgotten after the end of
 * all that was given is cut off.
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

/* The last block may be known in part, and complete now that it is known where
 * it ends.
 */
int leaves_end_piece (struct blkhash_leaves *l, uint64_t index);

/* Set blocks to LEAF_MISSING or LEAF_ZERO, or store a leaf, whatever was
 * there.
 */
int leaves_set_locked (struct blkhash_leaves *l, uint64_t first,
                       uint64_t count, enum leaf_state state);
int leaves_store_locked (struct blkhash_leaves *l, uint64_t index,
                         const struct leaf_block *block);

/* A look contradicts what was known of a block. */
int leaves_contradict_locked (struct blkhash_leaves *l, uint64_t index,
                              uint64_t count);

/* Is all of the block known? */
static inline bool
leaves_is_complete (const struct blkhash_leaves *l,
                    const struct partial *partial)
{
  return partial_covers (partial, blocks_length (l, partial->index, 1), 0);
}

/* Hash a block of which all is known, and which the caller set busy. */
int leaves_hash_busy (struct blkhash_leaves *l, struct partial *partial);

/* Take a block out of the pieces; the tree is to be set by the caller. */
void leaves_drop_partial_locked (struct blkhash_leaves *l,
                                 struct partial *partial);

/* What the table says is not right any more.  Returns ERR. */
int leaves_stick_locked (struct blkhash_leaves *l, int err);

/* Fold what became known in order.  Returns the error of the table, with the
 * lock held, but lets go of it meanwhile.  Only for a table that is given once.
 */
int leaves_fold_early_locked (struct blkhash_leaves *l);

/* The same of COUNT blocks with LEAVES, the first that are missing, which need
 * not go through the tree for that.  Nobody is folding.
 */
int leaves_fold_next_locked (struct blkhash_leaves *l, uint64_t count,
                             const unsigned char *leaves);

/* Hash the blocks that are complete and wait for it.  ENODATA if there are
 * others, or an error of the table.
 */
int leaves_hash_complete (struct blkhash_leaves *l);

/* For struct pieces: forget the oldest block, without waiting for a lock. */
bool leaves_evict_oldest (void *opaque);

#endif /* BLKHASH_LEAVES_PRIVATE_H */
