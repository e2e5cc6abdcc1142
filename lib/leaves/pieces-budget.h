/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory for pieces of blocks, in chunks of one size, within a bound that any
 * number of tables share.  Every call is thread-safe.
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

  /* Protects USERS, the list of tables that hold memory, and keeps them alive.
   * Taken while the lock of a table is held, never the other way round.
   */
  pthread_mutex_t users_lock;
  struct pieces *users;

  pthread_mutex_t lock;         /* protects what follows; taken last */
  pthread_cond_t has_freed;
  size_t used;                  /* bytes in chunks, spare ones too, and
                                 * overhead */
  unsigned busy;                /* chunks that are being hashed */
  uint64_t freed;               /* counts freed chunks */
  unsigned tables;
  size_t chunk;                 /* bytes of each; set by the first table */
  unsigned char *base;          /* bound bytes of addresses, or NULL */
  size_t cut;                   /* bytes from BASE on that are cut to chunks */
  size_t dirty;                 /* bytes from BASE on that may be not zero */
  struct spare *spare;          /* free chunks */
  size_t handed;                /* chunks in use */
};

/* A static budget that is never destroyed can be all zero but for the bound, if
 * that initializes POSIX threads' objects, as on Linux and FreeBSD.
 */
void budget_init (struct pieces_budget *budget, size_t bound);
void budget_destroy (struct pieces_budget *budget);

/* Add and remove a table that uses chunks of CHUNK bytes, a multiple of 64 that
 * is the same for all tables.  The last removal releases all memory.
 */
void budget_enter (struct pieces_budget *budget, size_t chunk);
void budget_leave (struct pieces_budget *budget);

/* Allocate a chunk, and account for OVERHEAD bytes that the caller allocates
 * for it elsewhere.  *ZERO asks for a zeroed chunk, and is set to whether it is
 * one.  NULL with errno ENOMEM, or ENOBUFS if the bound would be exceeded; then
 * *SEEN is for budget_wait.
 */
void *budget_get (struct pieces_budget *budget, size_t overhead, bool *zero,
                  uint64_t *seen);
void budget_put (struct pieces_budget *budget, void *chunk, size_t overhead);

/* The caller begins, or has ended, to hash a chunk, which it then frees. */
void budget_busy (struct pieces_budget *budget, bool begins);

/* Wait until a chunk was freed after SEEN was stored.  False if none was, and
 * none is being hashed.
 */
bool budget_wait (struct pieces_budget *budget, uint64_t seen);

#endif /* BLKHASH_PIECES_BUDGET_H */
