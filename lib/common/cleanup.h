/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Scoped locks: a mutex is unlocked at the end of the enclosing { }.
 */

#ifndef BLKHASH_CLEANUP_H
#define BLKHASH_CLEANUP_H

#include <assert.h>
#include <pthread.h>

static inline void
cleanup_unlock (pthread_mutex_t **lock)
{
  int r = pthread_mutex_unlock (*lock);

  assert (r == 0);
  (void) r;
}

#define CLEANUP_CONCAT2(a, b) a##b
#define CLEANUP_CONCAT(a, b) CLEANUP_CONCAT2 (a, b)

/* Lock LOCK until control leaves the enclosing { }, by return or otherwise. */
#define SCOPED_LOCK(lock)                                               \
  pthread_mutex_t *CLEANUP_CONCAT (scoped_lock_, __LINE__)              \
    __attribute__ ((cleanup (cleanup_unlock), unused)) = (lock);        \
  pthread_mutex_lock (CLEANUP_CONCAT (scoped_lock_, __LINE__))

#endif /* BLKHASH_CLEANUP_H */
