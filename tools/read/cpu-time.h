/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measures for how much of a period a thread was busy, that is, did not wait
 * for a device or a server.
 *
 * A thread that waits gives up its CPU voluntarily.  A thread that is preempted
 * still counts as busy.
 */

#ifndef BLKSUM_CPU_TIME_H
#define BLKSUM_CPU_TIME_H

#include <stdint.h>
#include <time.h>

#include <sys/resource.h>
#include <sys/time.h>

#ifdef RUSAGE_THREAD

struct cpu_time {
  struct rusage usage;
};

static inline void
cpu_time_start (struct cpu_time *time)
{
  getrusage (RUSAGE_THREAD, &time->usage);
}

static inline uint64_t
cpu_time_ns (const struct rusage *usage)
{
  return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) *
    UINT64_C (1000000000) +
    (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * UINT64_C (1000);
}

/* Returns for how many of the NS nanoseconds since cpu_time_start the calling
 * thread was busy.  The same thread must have called cpu_time_start.  If it
 * both waited and was preempted, all periods without a CPU are assumed to be of
 * equal length.
 */
static inline uint64_t
cpu_time_busy (const struct cpu_time *time, uint64_t ns)
{
  struct rusage now;
  uint64_t waits, losses, cpu;

  getrusage (RUSAGE_THREAD, &now);
  waits = now.ru_nvcsw - time->usage.ru_nvcsw;
  losses = now.ru_nivcsw - time->usage.ru_nivcsw;
  cpu = cpu_time_ns (&now) - cpu_time_ns (&time->usage);
  return waits == 0 || cpu >= ns
    ? ns : cpu + (ns - cpu) / (waits + losses) * losses;
}

#else

/* The system has no RUSAGE_THREAD: the thread counts as waiting all the time.
 */
struct cpu_time {
  char unused;
};

static inline void
cpu_time_start (struct cpu_time *time)
{
  (void) time;
}

static inline uint64_t
cpu_time_busy (const struct cpu_time *time, uint64_t ns)
{
  (void) time; (void) ns;
  return 0;
}

#endif

#endif /* BLKSUM_CPU_TIME_H */
