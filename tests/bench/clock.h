/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What time is it, in seconds, of the CPU too, and in cycles.
 */

#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline double
seconds_now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

/* That this thread has spent on a CPU. */
static inline double
cpu_seconds_now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

/* Cycles of the time stamp counter, which runs at the nominal frequency of
 * the CPU whatever its present one.  0 where there is none that is counted in
 * cycles: the counter of ARM has its own, much slower, rate.
 */
static inline uint64_t
cycles_now (void)
{
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc ();
#else
  return 0;
#endif
}

#endif /* BENCH_CLOCK_H */
