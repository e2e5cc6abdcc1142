/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The inside of a leaf table, shared by leaves.c, which is told what is in the
 * image, leaves-query.c, which tells what is known, and leaves-fold.c, which
 * makes the digest of it.
 */

#ifndef BLKHASH_LEAVES_H
#define BLKHASH_LEAVES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct digest;
struct leaf_engine;
struct leaf_tree;
struct outer;
struct pieces;

struct blkhash_leaves {
  /* Set once. */
  uint64_t size;                /* of the image, bytes */
  uint64_t blocks;
  size_t block_size;            /* bytes */
  size_t leaf_size;             /* bytes */
  unsigned streams;
  bool once;                    /* BLKHASH_LEAVES_ONCE */
  struct digest *digest;
  struct leaf_engine *engine;

  pthread_mutex_t lock;         /* protects all below */
  struct leaf_tree *tree;
  struct pieces *pieces;        /* those that the tree calls LEAF_PARTIAL */
  uint64_t generation;          /* grows with every change */
  int error;                    /* what the table says may be wrong */

  /* Of a table that is given once: leaves before FOLDED are in OUTER already
   * and gone from the tree.  The thread that set FOLDING, and no other, uses
   * OUTER, without the lock.
   */
  struct outer *outer;
  uint64_t folded;              /* blocks */
  uint64_t folded_data, folded_zero; /* bytes before FOLDED */
  bool folding, finished;
  pthread_cond_t folding_ended;
};

/* The length in bytes of COUNT blocks from INDEX on: only the last block of
 * the image can be shorter.
 */
static inline uint64_t
blocks_length (const struct blkhash_leaves *l, uint64_t index,
               uint64_t count)
{
  uint64_t left = l->size - index * l->block_size;

  return count > left / l->block_size ? left : count * l->block_size;
}

/* Fold what became known in order.  Returns with the lock held, but lets go
 * of it meanwhile.  Only for a table that is given once.
 */
void leaves_fold_early_locked (struct blkhash_leaves *l);

/* As blkhash_leaves_data and _zero, but the content was only looked at, not
 * changed: what was not known is learnt, what was known stays, and what is
 * contradicted becomes missing.  A part of a complete block says nothing new.
 */
int leaves_learn_data (struct blkhash_leaves *l, const void *buf,
                       size_t len, uint64_t offset);
int leaves_learn_zero (struct blkhash_leaves *l, uint64_t len,
                       uint64_t offset);

#endif /* BLKHASH_LEAVES_H */
