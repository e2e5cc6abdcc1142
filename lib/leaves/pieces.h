/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Partial blocks: blocks of which only some pieces are known, or that are not
 * hashed yet.  Their content is kept in memory, within a budget.
 *
 * The caller holds the lock of its table.  Tables with different locks can
 * share a budget.
 */

#ifndef BLKHASH_PIECES_H
#define BLKHASH_PIECES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- The budget ----
 *
 * Memory for pieces of blocks, in chunks of one size, within a bound that any
 * number of tables share.  All functions except budget_init and budget_destroy
 * are thread-safe.
 */

struct pieces_budget {
  size_t bound;                 /* bytes; set once */

  /* Protects USERS, the list of tables that hold memory.  No table in the list
   * is freed while this lock is held.  A thread can hold the lock of its own
   * table when it takes users_lock.  So a thread that holds users_lock must not
   * wait for the lock of another table, but only try to take that lock.
   */
  pthread_mutex_t users_lock;
  struct pieces *users;

  pthread_mutex_t lock;         /* protects the fields below; taken last */
  pthread_cond_t has_freed;     /* FREED was incremented, or BUSY is 0 */
  size_t used;                  /* bytes in chunks, including spare ones, and
                                 * overhead */
  unsigned busy;                /* chunks that are being hashed */
  uint64_t freed;               /* number of chunks freed so far */
  unsigned tables;
  size_t chunk;                 /* bytes in a chunk, the same in all tables */
  unsigned char *base;          /* mapping of BOUND bytes, or NULL */
  size_t cut;                   /* bytes from BASE on that are cut into
                                 * chunks */
  size_t dirty;                 /* bytes from BASE on that may be nonzero */
  struct spare_chunk *spare;    /* free chunks */
  size_t chunks_in_use;         /* cut from BASE, and not in SPARE */
};

/* A static budget that is never destroyed does not need budget_init, if all its
 * members except BOUND are zero.  This works on systems where zeros are a valid
 * initializer for POSIX threads' objects, such as Linux and FreeBSD.
 */
void budget_init (struct pieces_budget *budget, size_t bound);
void budget_destroy (struct pieces_budget *budget);

/* Returns true when a chunk was freed after pieces_reserve had stored SEEN.
 * Waits for this only while a chunk is being hashed; otherwise returns false.
 */
bool budget_wait (struct pieces_budget *budget, uint64_t seen);

/* ---- Partial blocks ---- */

/* A range of known bytes of a partial block.  The ranges of a block are sorted,
 * disjoint, and not adjacent to each other.
 */
struct partial_range {
  uint32_t start, end;          /* offsets in the block; END is exclusive */
};

struct partial {
  uint64_t index;               /* index of the block */
  bool busy;                    /* it is being hashed, and cannot be evicted */
  bool on_zeros;                /* was a block of zeros before data was written
                                 * into it, and no part was forgotten since: the
                                 * block is complete */
  bool has_data;                /* bytes that are not all zero were stored */
  bool fresh;                   /* BYTES were all zero after pieces_reserve */
  struct partial_range *ranges;
  size_t nr_ranges;
  struct partial *next_in_bucket;
  struct partial *older, *newer;
  unsigned char *bytes;         /* content, block_size bytes */
};

struct pieces {
  /* Set once. */
  uint32_t block_size;          /* bytes */
  size_t max_ranges;            /* maximum number of ranges of a block */
  size_t chunk;                 /* size of the allocation of a struct partial
                                 * with its ranges and content, bytes */
  size_t overhead;              /* bytes that are counted in addition for each
                                 * partial block: nodes of the leaf tree, and
                                 * buckets */
  struct pieces_budget *budget;
  bool (*evict) (void *opaque);
  void *opaque;

  size_t count, nr_buckets;     /* NR_BUCKETS is a power of two */
  struct partial **buckets;
  struct partial *oldest, *newest;

  /* For other users of the budget: see share_make_room. */
  _Atomic size_t held;          /* bytes of the budget that these pieces use;
                                 * changed under the lock of the table */
  atomic_bool idle;             /* blocks of idle users are evicted first */
  atomic_bool listed;           /* in the list of users; changed under
                                 * users_lock */
  struct pieces *next_user, *prev_user; /* under users_lock */
  bool tried;                   /* under users_lock: the current search for a
                                 * user to evict from has tried this one */
};

/* BUDGET must outlive the pieces.  OVERHEAD is the memory, in bytes, that the
 * leaf table needs elsewhere for a partial block.  EVICT is called with OPAQUE
 * by other users of the budget, in any thread, under users_lock.  It hashes or
 * evicts the oldest block of this user, and returns true.  It must not wait for
 * the lock of the table: if it cannot take the lock, or there is no such block,
 * it returns false.  EVICT can be NULL.  Returns NULL with errno ENOMEM.
 */
struct pieces *pieces_create (uint32_t block_size, size_t overhead,
                              struct pieces_budget *budget,
                              bool (*evict) (void *opaque), void *opaque);
void pieces_free (struct pieces *pieces);

bool pieces_is_empty (const struct pieces *pieces);

/* Returns the partial block INDEX, or NULL. */
struct partial *pieces_find (struct pieces *pieces, uint64_t index);

/* Allocate a partial block, which the caller adds or frees.  If ZERO is set,
 * zeroed memory is preferred, which makes partial_zero fast.  Returns NULL with
 * errno set to ENOMEM, or to ENOBUFS if the budget is used up.  With ENOBUFS,
 * *SEEN is set for budget_wait.
 */
struct partial *pieces_reserve (struct pieces *pieces, bool zero,
                                uint64_t *seen);

/* Add PARTIAL as block INDEX, which must not have a partial yet. */
void pieces_add (struct pieces *pieces, struct partial *partial,
                 uint64_t index);

/* Returns the block to which no piece was added for the longest time, ignoring
 * busy blocks; or NULL if there is none.
 */
struct partial *pieces_oldest (const struct pieces *pieces);

/* Remove PARTIAL; the caller frees it. */
void pieces_remove (struct pieces *pieces, struct partial *partial);
void partial_free (struct pieces *pieces, struct partial *partial);

/* Called when the caller begins to hash PARTIAL. */
void partial_set_busy (struct pieces *pieces, struct partial *partial);

/* Set the whole block, which is LEN bytes long, to zero. */
void partial_zero (struct partial *partial, uint32_t len);

/* Set LEN bytes at offset START in the block to the bytes of BUF, or to zero if
 * BUF is NULL.  Returns 0; or ENOBUFS if the block already has the maximum
 * number of ranges, even if this call would not add one.  After ENOBUFS nothing
 * has changed.
 */
int pieces_put (struct pieces *pieces, struct partial *partial,
                const void *buf, uint32_t len, uint32_t start);

/* Returns true if any of the LEN bytes at START is known. */
bool partial_overlaps (const struct partial *partial, uint32_t len,
                       uint32_t start);

/* Returns true if all of the first LEN bytes are known. */
bool partial_covers (const struct partial *partial, uint32_t len);

/* Returns true if the known bytes among the LEN bytes at START are equal to the
 * bytes of BUF, or are zero if BUF is NULL.
 */
bool partial_agrees (const struct partial *partial, const void *buf,
                     uint32_t len, uint32_t start);

/* Make LEN bytes at START unknown.  Returns 0 or ENOBUFS, as pieces_put. */
int pieces_forget (struct pieces *pieces, struct partial *partial,
                   uint32_t len, uint32_t start);

/* Make room for PIECES: the largest idle user of the budget, or the largest
 * user if none is idle, hashes or evicts its oldest block.  If that user
 * cannot, the next one in this order does.  Returns 0 if a block was released;
 * EAGAIN if it is the turn of PIECES itself, and the caller must hash or evict
 * *OLDEST; or ENOBUFS if no user can release a block now.  The caller holds the
 * lock of its table.
 */
int share_make_room (struct pieces *pieces, struct partial **oldest);

#endif /* BLKHASH_PIECES_H */
