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

struct pieces;

/* Memory, in bytes, that any number of struct pieces share.  Each gives back
 * only its own, down to one block.
 */
struct pieces_budget {
  size_t bound;
  _Atomic size_t used;
};

/* A block that is being collected.  The bytes that are known are in ranges,
 * sorted, disjoint, and not adjacent to each other.
 */
struct partial_range {
  uint32_t start, end;          /* bytes of the block, END is exclusive */
};

struct partial {
  uint64_t index;               /* of the block */
  bool busy;                    /* its user is hashing it: never evicted */
  struct partial_range *ranges;
  size_t nr_ranges, room;
  struct partial *next_in_bucket;
  struct partial *older, *newer;
  unsigned char bytes[];        /* block_size */
};

/* What malloc adds to two allocations, a bucket, and the share of a lone block
 * in the user's tree; bytes.
 */
#define PIECES_OVERHEAD 300

/* BUDGET must outlive it.  NULL: no memory. */
struct pieces *pieces_create (uint32_t block_size,
                              struct pieces_budget *budget);
void pieces_free (struct pieces *pieces);

bool pieces_is_empty (const struct pieces *pieces);

/* The block INDEX, or NULL. */
struct partial *pieces_find (struct pieces *pieces, uint64_t index);

/* Begin to collect the block INDEX, which is not there yet.  NULL: no memory.
 * The bound may be exceeded then: see pieces_excess.
 */
struct partial *pieces_add (struct pieces *pieces, uint64_t index);

/* The block to which nothing was added for longest, or NULL. */
struct partial *pieces_oldest (const struct pieces *pieces);

/* The block to forget because the bound is exceeded, the oldest that is not
 * busy; NULL when all is well.  Never KEEP.
 */
struct partial *pieces_excess (struct pieces *pieces,
                               const struct partial *keep);

/* Take PARTIAL out; it belongs to the caller, who frees it. */
void pieces_remove (struct pieces *pieces, struct partial *partial);
void partial_free (struct partial *partial);

/* LEN bytes at START of the block are those of BUF, or zero if it is NULL.
 * 0 or ENOMEM; then nothing changed.
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

/* Forget LEN bytes at START.  0 or ENOMEM. */
int pieces_forget (struct pieces *pieces, struct partial *partial,
                   uint32_t len, uint32_t start);

#endif /* BLKHASH_PIECES_H */
