/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Partial blocks: the content of blocks of which only some pieces are known,
 * within a memory budget.
 *
 * The caller holds the lock of its table.  Tables with different locks can
 * share a budget.
 */

#ifndef BLKHASH_PIECES_H
#define BLKHASH_PIECES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leaves/pieces-budget.h"

/* A partial block.  RANGES are its known bytes, sorted, disjoint, and not
 * adjacent to each other.
 */
struct partial_range {
  uint32_t start, end;          /* bytes of the block, END is exclusive */
};

struct partial {
  uint64_t index;               /* of the block */
  bool busy;                    /* it is being hashed: never evicted */
  bool on_zeros;                /* it was a block of zeros before */
  bool has_data;                /* bytes that are not all zero were put in */
  bool fresh;                   /* its bytes were zero when it was reserved */
  struct partial_range *ranges;
  size_t nr_ranges;
  struct partial *next_in_bucket;
  struct partial *older, *newer;
  unsigned char *bytes;         /* block_size */
};

struct pieces {
  /* Set once. */
  uint32_t block_size;          /* bytes */
  size_t max_ranges, chunk;     /* chunk: bytes of a partial, with all in it */
  size_t overhead;              /* of a block, in its user's memory */
  struct pieces_budget *budget;
  bool (*evict) (void *opaque);
  void *opaque;

  size_t count, nr_buckets;     /* nr_buckets is a power of two */
  struct partial **buckets;
  struct partial *oldest, *newest;

  /* For others that share the budget: see pieces-share.h. */
  _Atomic size_t held;          /* bytes */
  atomic_bool idle;             /* idle users evict first */
  atomic_bool listed;           /* changed under users_lock */
  struct pieces *next_user, *prev_user; /* under users_lock */
  bool tried;                   /* under users_lock */
};

/* BUDGET must outlive it.  OVERHEAD is the memory, in bytes, that the table
 * needs for a block elsewhere.  EVICT is called by other users of the budget,
 * in any thread: it hashes or evicts the oldest block of this user, without
 * waiting for the lock of its table, or returns false.  It can be NULL.
 * Returns NULL if there is no memory.
 */
struct pieces *pieces_create (uint32_t block_size, size_t overhead,
                              struct pieces_budget *budget,
                              bool (*evict) (void *opaque), void *opaque);
void pieces_free (struct pieces *pieces);

bool pieces_is_empty (const struct pieces *pieces);

/* The block INDEX, or NULL. */
struct partial *pieces_find (struct pieces *pieces, uint64_t index);

/* Allocate a partial block, which the caller adds or frees.  ZERO if it is for
 * partial_zero.  NULL with errno ENOMEM or ENOBUFS; then *SEEN is for
 * budget_wait.
 */
struct partial *pieces_reserve (struct pieces *pieces, bool zero,
                                uint64_t *seen);

/* Add PARTIAL as the block INDEX, which has none yet. */
void pieces_add (struct pieces *pieces, struct partial *partial,
                 uint64_t index);

/* The block to which no piece was added for the longest time, of those that are
 * not busy; or NULL.
 */
struct partial *pieces_oldest (const struct pieces *pieces);

/* Remove PARTIAL; the caller frees it. */
void pieces_remove (struct pieces *pieces, struct partial *partial);
void partial_free (struct pieces *pieces, struct partial *partial);

/* The caller begins to hash it. */
void partial_set_busy (struct pieces *pieces, struct partial *partial);

/* Set all of the block, which is LEN bytes long, to zero. */
void partial_zero (struct partial *partial, uint32_t len);

/* Set LEN bytes at START of the block to those of BUF, or to zero if BUF is
 * NULL.  0, or ENOBUFS if there would be too many ranges; then nothing changes.
 */
int pieces_put (struct pieces *pieces, struct partial *partial,
                const void *buf, uint32_t len, uint32_t start);

/* Is any byte of LEN bytes at START known?  Are all? */
bool partial_overlaps (const struct partial *partial, uint32_t len,
                       uint32_t start);
bool partial_covers (const struct partial *partial, uint32_t len,
                     uint32_t start);

/* Are the known bytes among LEN bytes at START equal to those of BUF, or zero
 * if BUF is NULL?
 */
bool partial_agrees (const struct partial *partial, const void *buf,
                     uint32_t len, uint32_t start);

/* Forget LEN bytes at START.  0 or ENOBUFS, as above. */
int pieces_forget (struct pieces *pieces, struct partial *partial,
                   uint32_t len, uint32_t start);

#endif /* BLKHASH_PIECES_H */
