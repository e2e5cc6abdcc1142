/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Select a kernel, which is a SIMD (multi-buffer) implementation of a hash, for
 * each number of messages.  The selection is a pure function of the costs of
 * calls, which are measured or guessed elsewhere.
 */

#ifndef BLKHASH_LANES_PLAN_H
#define BLKHASH_LANES_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "lanes/lane-kernel.h"        /* LANES_MAX */

#define LANE_MAX_KERNELS 16     /* maximum number of kernels of a hash */
#define LANE_NO_KERNEL 255      /* means the caller's hash of one message */

/* Costs in any unit, below 2^32.  A call of a kernel costs the same for one
 * message as for a message in each of its lanes.
 */
struct lane_costs {
  uint64_t single;              /* cost of a message with the caller's own
                                 * hash */
  uint64_t call[LANE_MAX_KERNELS]; /* cost of a call of each kernel, in the
                                    * order of the hash's kernels; 0 if the
                                    * kernel must not be used */
};

struct lane_plan {
  /* Both arrays are indexed by the number of messages that are not hashed yet.
   * NEXT is the number of messages to hash in the next call; KERNEL is the
   * index of the kernel to use, or LANE_NO_KERNEL to hash one message with the
   * caller's hash.
   */
  uint8_t next[LANES_MAX + 1];
  uint8_t kernel[LANES_MAX + 1];
  /* The smallest number of messages whose cost per message is close to the
   * minimum.
   */
  size_t full_group;
};

/* Make the plan that has the least cost for each number of messages.  If two
 * choices of the next call cost the same, the one with more messages is
 * selected; if two kernels cost the same, the first one in the hash's list.
 */
void lane_plan_make (struct lane_plan *plan, const struct lane_hash *hash,
                     const struct lane_costs *costs);

#endif /* BLKHASH_LANES_PLAN_H */
