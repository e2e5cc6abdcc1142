/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Blocks of which only some pieces are known, with the content of these
 * pieces, within a bound of memory.
 *
 * It knows nothing of digests.  Its user holds a lock, except that a budget can
 * be shared by users that have different ones.
 */

#ifndef BLKHASH_PIECES_H
#define BLKHASH_PIECES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leaves/pieces-budget.h"

/* A block that is being collected.  The bytes that are known are in ranges,
 * sorted, disjoint, and not adjacent to each other.
 */
struct partial_range {
  uint32_t start, end;          /* bytes of the block, END is exclusive */
};

struct partial {
  uint64_t index;               /* of the block */
  bool busy;                    /* its user is hashing it: never evicted */
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
  atomic_bool idle;             /* nobody uses it: it is taken from first */
  atomic_bool listed;           /* changed under users_lock */
  struct pieces *next_user, *prev_user; /* under users_lock */
  bool tried;                   /* under users_lock */
};

/* BUDGET must outlive it.  OVERHEAD is what a block costs in the user's memory,
 * bytes.  GIVE_BACK is called by others that share the budget, in any thread:
 * it makes this user forget its oldest block, without waiting for any lock;
 * false if it cannot.  It can be NULL.  NULL: no memory.
 */
struct pieces *pieces_create (uint32_t block_size, size_t overhead,
                              struct pieces_budget *budget,
                              bool (*evict) (void *opaque), void *opaque);
void pieces_free (struct pieces *pieces);

bool pieces_is_empty (const struct pieces *pieces);

/* The block INDEX, or NULL. */
struct partial *pieces_find (struct pieces *pieces, uint64_t index);

/* Room for a block, which is to be added or freed; ZERO: it is for
 * partial_zero.  NULL with errno ENOMEM or ENOBUFS; then *SEEN is for
 * budget_wait.
 */
struct partial *pieces_reserve (struct pieces *pieces, bool zero,
                                uint64_t *seen);

/* Begin to collect the block INDEX, which is not there yet, in PARTIAL. */
void pieces_add (struct pieces *pieces, struct partial *partial,
                 uint64_t index);

/* The block to which nothing was added for longest and that is not busy, or
 * NULL.
 */
struct partial *pieces_oldest (const struct pieces *pieces);

/* Take PARTIAL out; it belongs to the caller, who frees it. */
void pieces_remove (struct pieces *pieces, struct partial *partial);
void partial_free (struct pieces *pieces, struct partial *partial);

/* Its user begins to hash it. */
void partial_set_busy (struct pieces *pieces, struct partial *partial);

/* All of the block, which is LEN bytes long, is zero. */
void partial_zero (struct partial *partial, uint32_t len);

/* LEN bytes at START of the block are those of BUF, or zero if it is NULL.
 * 0, or ENOBUFS if that makes too many ranges; then nothing changed.
 */
int pieces_put (struct pieces *pieces, struct partial *partial,
                const void *buf, uint32_t len, uint32_t start);

/* Is any byte of LEN bytes at START known?  Are all? */
bool partial_overlaps (const struct partial *partial, uint32_t len,
                       uint32_t start);
bool partial_covers (const struct partial *partial, uint32_t len,
                     uint32_t start);

/* Are those of LEN bytes at START that are known the same in BUF, or zero if
 * it is NULL?
 */
bool partial_agrees (const struct partial *partial, const void *buf,
                     uint32_t len, uint32_t start);

/* Forget LEN bytes at START.  0 or ENOBUFS, as above. */
int pieces_forget (struct pieces *pieces, struct partial *partial,
                   uint32_t len, uint32_t start);

#endif /* BLKHASH_PIECES_H */
