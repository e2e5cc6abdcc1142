/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A real-time clock that jumps at each call, up to $CLOCK_JUMP seconds forth and
 * back: to be preloaded.  The other clocks are those of the system.
 */

#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long
jump (void)
{
  static atomic_uint calls;
  const char *most = getenv ("CLOCK_JUMP");
  unsigned random = (atomic_fetch_add (&calls, 1) + 1) * 2654435761u >> 8;

  return most ? (long) (random % (2 * atol (most) + 1)) - atol (most) : 0;
}

int
clock_gettime (clockid_t id, struct timespec *now)
{
  int r = syscall (SYS_clock_gettime, id, now);

  if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
    now->tv_sec += jump ();
  return r;
}

time_t
time (time_t *to)
{
  struct timespec now;

  clock_gettime (CLOCK_REALTIME, &now);
  if (to)
    *to = now.tv_sec;
  return now.tv_sec;
}

int
gettimeofday (struct timeval *restrict to, void *restrict zone)
{
  struct timespec now;

  (void) zone;
  clock_gettime (CLOCK_REALTIME, &now);
  *to = (struct timeval) { now.tv_sec, now.tv_nsec / 1000 };
  return 0;
}
