/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Statistics of reads.
 *
 * A latency is a number with three bits behind its first one: each power of two
 * has eight ranges.  So any latency is counted in constant memory, and a
 * percentile is off by an eighth at most.
 */

#include <config.h>

#include "../lib/common/numbers.h"
#include "util/read-stats.h"

#define BITS 3                  /* behind the first */
#define STEPS (1 << BITS)       /* ranges of a power of two */

static unsigned
range_of (uint64_t latency)
{
  unsigned shift = 0;

  while (latency >> shift >= 2 * STEPS)
    shift++;
  return MIN (shift * STEPS + (latency >> shift), READ_STATS_RANGES - 1);
}

/* The largest latency of a range. */
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
