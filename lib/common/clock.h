/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The monotonic clock: measure durations, sleep, and wait with a timeout.
 *
 * All times are nanoseconds since an unspecified moment.  The real-time clock
 * is not used, because setting it back could extend a wait by hours.
 */

#ifndef BLKHASH_CLOCK_H
#define BLKHASH_CLOCK_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Not CLOCK_SECOND, which is a clock of FreeBSD. */
#define NS_PER_SECOND UINT64_C (1000000000)

#define WAIT_POLL 1000000       /* nanoseconds between two polls: see
                                 * clock_cond_wait */

static inline uint64_t
clock_ns (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec * NS_PER_SECOND + t.tv_nsec;
}

/* Returns the same time in milliseconds. */
static inline int64_t
clock_ms (void)
{
  return clock_ns () / 1000000;
}

/* Returns the same time in seconds. */
static inline double
clock_seconds (void)
{
  return clock_ns () * 1e-9;
}

static inline void
clock_sleep (uint64_t ns)
{
  struct timespec left = { ns / NS_PER_SECOND, ns % NS_PER_SECOND };

  while (nanosleep (&left, &left) == -1 && errno == EINTR)
    ;
}

/* Initialize COND for clock_cond_wait. */
static inline void
clock_cond_init (pthread_cond_t *cond)
{
#ifdef HAVE_PTHREAD_CONDATTR_SETCLOCK
  pthread_condattr_t attr;

  pthread_condattr_init (&attr);
  pthread_condattr_setclock (&attr, CLOCK_MONOTONIC);
  pthread_cond_init (cond, &attr);
  pthread_condattr_destroy (&attr);
#else
  pthread_cond_init (cond, NULL);
#endif
}

/* The same as pthread_cond_wait, but returns ETIMEDOUT if the time is UNTIL or
 * later.  Can also return 0 without a signal (a spurious wake-up).
 *
 * On systems where condition variables cannot use the monotonic clock, the wait
 * is a sleep of WAIT_POLL, after which the caller checks its condition.
 */
static inline int
clock_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until)
{
#ifdef HAVE_PTHREAD_CONDATTR_SETCLOCK
  const struct timespec t = { until / NS_PER_SECOND, until % NS_PER_SECOND };

  return pthread_cond_timedwait (cond, lock, &t);
#else
  (void) cond;
  pthread_mutex_unlock (lock);
  clock_sleep (WAIT_POLL);
  pthread_mutex_lock (lock);
  return clock_ns () >= until ? ETIMEDOUT : 0;
#endif
}

#endif /* BLKHASH_CLOCK_H */
