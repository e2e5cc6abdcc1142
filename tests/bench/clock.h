/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Clocks: the time in seconds, the CPU time, and cycles.
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

/* The CPU time of this thread. */
static inline double
cpu_seconds_now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

/* Cycles of the time stamp counter, which runs at the nominal frequency of the
 * CPU at any frequency.  Returns 0 if there is no counter of cycles: that of
 * ARM has a much lower rate of its own.
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
