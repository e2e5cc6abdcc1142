/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which kernel for how many messages, by what a call of each costs.  Numbers
 * in, numbers out: where costs come from is not known here.
 */

#ifndef BLKHASH_LANES_PLAN_H
#define BLKHASH_LANES_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "lanes/lane-kernel.h"        /* LANES_MAX */

#define LANE_MAX_KERNELS 16     /* of a hash */
#define LANE_NO_KERNEL 255      /* the caller's hash of one message */

/* In any unit, below 2^32.  A call of a kernel costs the same whether all of
 * its lanes have a message or one.
 */
struct lane_costs {
  uint64_t one;                 /* of a message by the caller's own hash */
  uint64_t call[LANE_MAX_KERNELS]; /* of the kernels of a hash, in its order; */
};                              /* 0: not to be used */

struct lane_plan {
  /* When so many messages wait: how many of them to hash next, and by which of
   * the kernels of the hash, or LANE_NO_KERNEL for one by the caller.
   */
  uint8_t next[LANES_MAX + 1];
  uint8_t kernel[LANES_MAX + 1];
  /* The fewest messages that cost hardly more for each than any number does. */
  size_t full_group;
};

/* The plan of least cost for each number of messages.  Of calls that are as
 * good the largest is the next, of kernels the one that is listed first.
 */
void lane_plan_make (struct lane_plan *plan, const struct lane_hash *hash,
                     const struct lane_costs *costs);

#endif /* BLKHASH_LANES_PLAN_H */
