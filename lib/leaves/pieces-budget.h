/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Memory for pieces of blocks, within a bound that any number of tables share.
 *
 * All chunks are of one size.  It knows nothing of blocks.  Every call is
 * thread-safe.
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

  /* Protects USERS, those who hold memory, and that none of them ends.  Taken
   * with the lock of a table held, never the other way round.
   */
  pthread_mutex_t users_lock;
  struct pieces *users;

  pthread_mutex_t lock;         /* protects what follows; taken last */
  pthread_cond_t has_freed;
  size_t used;                  /* bytes in chunks, spare ones too, and
                                 * overhead */
  unsigned busy;                /* chunks that are being hashed */
  uint64_t freed;               /* grows with every one given back */
  unsigned tables;
  size_t chunk;                 /* bytes of each; set by the first table */
  unsigned char *base;          /* bound bytes of addresses, or NULL */
  size_t cut;                   /* bytes of them that chunks were cut from, */
  size_t dirty;                 /* and may be not zero, from the first on */
  struct spare *spare;          /* those chunks that are not in use */
  size_t handed;                /* how many are */
};

/* One that is static, and never destroyed, can be all zero but for the bound
 * where POSIX threads take that: on Linux and FreeBSD.
 */
void budget_init (struct pieces_budget *budget, size_t bound);
void budget_destroy (struct pieces_budget *budget);

/* A table begins and ends to use it, for chunks of CHUNK bytes, a multiple of
 * 64 that is the same for all tables.  With the last one all memory goes.
 */
void budget_enter (struct pieces_budget *budget, size_t chunk);
void budget_leave (struct pieces_budget *budget);

/* A chunk, and OVERHEAD bytes that the caller has elsewhere for it.  *ZERO: it
 * is best all zero; set to whether it is.  NULL with errno ENOMEM, or ENOBUFS:
 * the bound would be exceeded; then *SEEN is for budget_wait.
 */
void *budget_get (struct pieces_budget *budget, size_t overhead, bool *zero,
                  uint64_t *seen);
void budget_put (struct pieces_budget *budget, void *chunk, size_t overhead);

/* A chunk begins, or ends, to be hashed: it is given back soon. */
void budget_busy (struct pieces_budget *budget, bool begins);

/* Wait until something was given back since SEEN.  False at once if nothing is
 * about to be.
 */
bool budget_wait (struct pieces_budget *budget, uint64_t seen);

#endif /* BLKHASH_PIECES_BUDGET_H */
