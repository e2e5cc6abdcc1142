/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Select the kernel for each number of messages, by the costs of calls.  A pure
 * function of the costs, which are measured or guessed elsewhere.
 */

#ifndef BLKHASH_LANES_PLAN_H
#define BLKHASH_LANES_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "lanes/lane-kernel.h"        /* LANES_MAX */

#define LANE_MAX_KERNELS 16     /* of a hash */
#define LANE_NO_KERNEL 255      /* the caller's hash of one message */

/* In any unit, below 2^32.  A call of a kernel costs the same for one message
 * as for a message in each of its lanes.
 */
struct lane_costs {
  uint64_t one;                 /* of a message by the caller's own hash */
  uint64_t call[LANE_MAX_KERNELS]; /* of the kernels of a hash, in its order; */
};                              /* 0: not to be used */

struct lane_plan {
  /* By the number of messages left: how many of them to hash next, and with
   * which kernel of the hash, or LANE_NO_KERNEL for one with the caller's hash.
   */
  uint8_t next[LANES_MAX + 1];
  uint8_t kernel[LANES_MAX + 1];
  /* The fewest messages whose cost per message is close to the minimum. */
  size_t full_group;
};

/* The plan of least cost for each number of messages.  Among equal
 * calls the largest is selected, among equal kernels the first in the list.
 */
void lane_plan_make (struct lane_plan *plan, const struct lane_hash *hash,
                     const struct lane_costs *costs);

#endif /* BLKHASH_LANES_PLAN_H */
