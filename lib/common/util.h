/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Scoped locks, which are unlocked at the end of the enclosing { }; and
 * arithmetic that the C library lacks.
 */

#ifndef BLKHASH_UTIL_H
#define BLKHASH_UTIL_H

#include <assert.h>
#include <pthread.h>

/* ---- Scoped locks ---- */

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

/* ---- Arithmetic ----
 *
 * The macros may evaluate an argument twice.
 */

/* On some systems <sys/param.h> also defines these. */
#undef MIN
#undef MAX
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* ALIGN must be a power of two, and have the same type as N. */
#define ROUND_DOWN(n, align) ((n) & ~((align) - 1))
/* N + ALIGN must not overflow. */
#define ROUND_UP(n, align) ROUND_DOWN ((n) + ((align) - 1), align)

/* The number of units of size N needed to hold LEN. */
#define DIV_ROUND_UP(len, n) ((len) / (n) + ((len) % (n) != 0))

#endif /* BLKHASH_UTIL_H */
