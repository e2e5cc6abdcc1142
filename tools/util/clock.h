/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How long something takes.
 */

#ifndef BLKSUM_CLOCK_H
#define BLKSUM_CLOCK_H

#include <time.h>

/* Seconds, since some moment. */
static inline double
clock_seconds (void)
{
  struct timespec ts;

  clock_gettime (CLOCK_MONOTONIC, &ts);
  return ts.tv_sec + ts.tv_nsec * 1e-9;
}

#endif /* BLKSUM_CLOCK_H */
