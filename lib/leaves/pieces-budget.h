/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory for pieces of blocks, in chunks of one size, within a bound that any
 * number of tables share.  All functions except budget_init and budget_destroy
 * are thread-safe.
 */

#ifndef BLKHASH_PIECES_BUDGET_H
#define BLKHASH_PIECES_BUDGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pieces;

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
  struct spare *spare;          /* free chunks */
  size_t chunks_in_use;         /* cut from BASE, and not in SPARE */
};

/* A static budget that is never destroyed does not need budget_init, if all its
 * members except BOUND are zero.  This works on systems where zeros are a valid
 * initializer for POSIX threads' objects, such as Linux and FreeBSD.
 */
void budget_init (struct pieces_budget *budget, size_t bound);
void budget_destroy (struct pieces_budget *budget);

/* Add and remove a table that uses chunks of CHUNK bytes, a multiple of 64 that
 * is the same for all tables.  The last removal releases all memory.
 */
void budget_add_table (struct pieces_budget *budget, size_t chunk);
void budget_remove_table (struct pieces_budget *budget);

/* Allocate a chunk, and account for OVERHEAD bytes that the caller allocates
 * for it elsewhere.  If *ZERO is set, a zeroed chunk is preferred; on return
 * *ZERO says if the chunk is zeroed.  Returns NULL with errno set to ENOMEM, or
 * to ENOBUFS if the bound would be exceeded.  With ENOBUFS, *SEEN is set for
 * budget_wait.  budget_put frees CHUNK; its OVERHEAD must be the same.
 */
void *budget_get (struct pieces_budget *budget, size_t overhead, bool *zero,
                  uint64_t *seen);
void budget_put (struct pieces_budget *budget, void *chunk, size_t overhead);

/* Called with true before a chunk is hashed, and with false after the chunk was
 * hashed and freed.  If the chunk were freed after the call with false,
 * budget_wait could return false although a chunk is about to be freed.
 */
void budget_busy (struct pieces_budget *budget, bool begins);

/* Returns true when a chunk was freed after budget_get had stored SEEN.  Waits
 * for this only while a chunk is being hashed; otherwise returns false.
 */
bool budget_wait (struct pieces_budget *budget, uint64_t seen);

#endif /* BLKHASH_PIECES_BUDGET_H */
