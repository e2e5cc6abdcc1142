/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Statistics of reads: how long they took, and how many were in flight.
 *
 * Not thread-safe.
 */

#ifndef BLKSUM_READ_STATS_H
#define BLKSUM_READ_STATS_H

#include <stdint.h>

/* Latencies are counted in ranges, eight for each power of two.  The last range
 * has all latencies of more than 68 minutes.
 */
#define READ_STATS_RANGES 320

/* Initialize this struct to zeros. */
struct read_stats {
  uint64_t reads;
  unsigned in_flight;           /* maximum of the IN_FLIGHT that were added */
  uint64_t counts[READ_STATS_RANGES]; /* number of reads, by latency */
};

/* Add a read that took LATENCY nanoseconds, and ended when IN_FLIGHT reads were
 * in flight.
 */
void read_stats_add (struct read_stats *stats, uint64_t latency,
                     unsigned in_flight);

/* Returns the latency, in nanoseconds, that SHARE of the reads did not exceed;
 * with 0.5, the median.  It is too high by at most an eighth; in the last range
 * it can be too low.  Returns 0 if there were no reads.
 */
uint64_t read_stats_latency (const struct read_stats *stats, double share);

#endif /* BLKSUM_READ_STATS_H */
