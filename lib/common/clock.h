/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The monotonic clock, for measuring durations, and a sleep.
 */

#ifndef BLKHASH_CLOCK_H
#define BLKHASH_CLOCK_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Wait for a condition variable with a timeout, by the monotonic clock.
 *
 * On systems where condition variables cannot use that clock, the wait is a
 * sleep of DEADLINE_POLL, after which the caller checks its condition.  The
 * real-time clock is not used instead, because setting it back could extend a
 * wait by hours.
 */

#define DEADLINE_SECOND INT64_C (1000000000) /* nanoseconds */
#define DEADLINE_POLL 1000000   /* nanoseconds between two polls */

/* Initialize COND for deadline_wait. */
static inline void
deadline_cond_init (pthread_cond_t *cond)
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

/* Returns the time NANOSECONDS from now. */
static inline struct timespec
deadline_in (uint64_t nanoseconds)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  t.tv_sec += nanoseconds / DEADLINE_SECOND;
  t.tv_nsec += nanoseconds % DEADLINE_SECOND;
  if (t.tv_nsec >= DEADLINE_SECOND) {
    t.tv_nsec -= DEADLINE_SECOND;
    t.tv_sec++;
  }
  return t;
}

static inline bool
deadline_has_passed (const struct timespec *deadline)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return now.tv_sec > deadline->tv_sec ||
    (now.tv_sec == deadline->tv_sec && now.tv_nsec >= deadline->tv_nsec);
}

/* The same as pthread_cond_wait, but returns ETIMEDOUT if DEADLINE has passed.
 * Can also return 0 without a signal (a spurious wake-up).
 */
static inline int
deadline_wait (pthread_cond_t *cond, pthread_mutex_t *lock,
               const struct timespec *deadline)
{
#ifdef HAVE_PTHREAD_CONDATTR_SETCLOCK
  return pthread_cond_timedwait (cond, lock, deadline);
#else
  const struct timespec interval = { .tv_nsec = DEADLINE_POLL };

  (void) cond;
  pthread_mutex_unlock (lock);
  nanosleep (&interval, NULL);
  pthread_mutex_lock (lock);
  return deadline_has_passed (deadline) ? ETIMEDOUT : 0;
#endif
}

/* Returns the seconds since an unspecified moment. */
static inline double
clock_seconds (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return ts.tv_sec + ts.tv_nsec * 1e-9;
}

/* Returns the nanoseconds since the same moment. */
static inline uint64_t
clock_ns (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return ts.tv_sec * UINT64_C (1000000000) + ts.tv_nsec;
}

/* Returns the milliseconds since the same moment. */
static inline int64_t
clock_ms (void)
{
  return clock_ns () / 1000000;
}

static inline void
clock_sleep (long long ns)
{
  struct timespec delay = { ns / 1000000000, ns % 1000000000 };

  while (nanosleep (&delay, &delay) == -1 && errno == EINTR)
    ;
}

#endif /* BLKHASH_CLOCK_H */
