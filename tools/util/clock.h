/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The monotonic clock, for measuring durations, and a sleep.
 */

#ifndef BLKSUM_CLOCK_H
#define BLKSUM_CLOCK_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

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

#endif /* BLKSUM_CLOCK_H */
