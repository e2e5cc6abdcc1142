/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Select a kernel, which is a SIMD (multi-buffer) implementation of a hash, for
 * each number of messages, by dynamic programming over the costs of calls.
 */

#include <config.h>

#include <assert.h>

#include "lanes/lanes-plan.h"

/* A group of messages is full, so that it need not wait for more messages, if
 * its cost per message is at most this many percent above that of the cheapest
 * group.
 */
#define FULL_PERCENT 5

/* Returns the cheapest kernel with at least COUNT lanes, or LANE_NO_KERNEL. */
static unsigned
cheapest (const struct lane_hash *hash, const struct lane_costs *costs,
          size_t count)
{
  unsigned i, best = LANE_NO_KERNEL;

  for (i = 0; hash->kernels[i]; i++)
    if (costs->call[i] != 0 && hash->kernels[i]->lanes >= count &&
        (best == LANE_NO_KERNEL || costs->call[i] < costs->call[best]))
      best = i;
  assert (i <= LANE_MAX_KERNELS);
  return best;
}

static size_t
full_group (const uint64_t least[LANES_MAX + 1])
{
  size_t n, best = 1;

  for (n = 2; n <= LANES_MAX; n++)
    if (least[n] * best < least[best] * n)
      best = n;
  for (n = 1; n < best; n++)
    if (least[n] * best * 100 <= least[best] * n * (100 + FULL_PERCENT))
      break;
  return n;
}

/* The least cost of N messages is the cost of the next call plus the least cost
 * of the messages that it leaves, minimized over all calls.
 */
void
lane_plan_make (struct lane_plan *plan, const struct lane_hash *hash,
                const struct lane_costs *costs)
{
  uint64_t least[LANES_MAX + 1] = { 0 };
  unsigned kernel[LANES_MAX + 1];
  size_t n, m;

  *plan = (struct lane_plan) { .full_group = 1 };
  for (n = 1; n <= LANES_MAX; n++) {
    kernel[n] = cheapest (hash, costs, n);
    least[n] = costs->single + least[n - 1];
    plan->next[n] = 1;
    plan->kernel[n] = LANE_NO_KERNEL;
    for (m = 1; m <= n && kernel[m] != LANE_NO_KERNEL; m++) {
      uint64_t cost = costs->call[kernel[m]] + least[n - m];

      if (cost < least[n] || (cost == least[n] && m > 1)) {
        least[n] = cost;
        plan->next[n] = m;
        plan->kernel[n] = kernel[m];
      }
    }
  }
  plan->full_group = full_group (least);
}
