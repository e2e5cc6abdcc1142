/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Statistics of reads.
 *
 * Latencies are counted in ranges, eight for each power of two: the range of a
 * latency is given by its highest bit and the next three bits.  So the memory
 * is constant, and a percentile has an error of at most an eighth.
 */

#include <config.h>

#include "../lib/common/numbers.h"
#include "util/read-stats.h"

#define BITS 3                  /* number of bits after the highest bit */
#define STEPS (1 << BITS)       /* number of ranges for each power of two */

static unsigned
range_of (uint64_t latency)
{
  unsigned shift = 0;

  while (latency >> shift >= 2 * STEPS)
    shift++;
  return MIN (shift * STEPS + (latency >> shift), READ_STATS_RANGES - 1);
}

/* Returns the largest latency of a range. */
static uint64_t
end_of (unsigned range)
{
  unsigned shift = range < 2 * STEPS ? 0 : range / STEPS - 1;

  return ((uint64_t) (range - shift * STEPS + 1) << shift) - 1;
}

void
read_stats_add (struct read_stats *stats, uint64_t latency,
                unsigned in_flight)
{
  stats->reads++;
  stats->in_flight = MAX (stats->in_flight, in_flight);
  stats->counts[range_of (latency)]++;
}

uint64_t
read_stats_latency (const struct read_stats *stats, double share)
{
  uint64_t count = 0;
  unsigned i;

  for (i = 0; i < READ_STATS_RANGES; i++) {
    count += stats->counts[i];
    if (count > 0 && count >= share * stats->reads)
      return end_of (i);
  }
  return 0;
}
