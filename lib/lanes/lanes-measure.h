/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measure the costs of the SIMD (multi-buffer) implementations of a hash,
 * called kernels, on this CPU, and the cost of the caller's hash of one
 * message.
 */

#ifndef BLKHASH_LANES_MEASURE_H
#define BLKHASH_LANES_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "lanes/lane-kernel.h"
#include "lanes/lanes-plan.h"         /* struct lane_costs */

/* The caller's own hash of one message.  UPDATE adds LEN bytes of DATA to the
 * message, and returns 0 or an errno value.
 */
struct single_hash {
  int (*update) (void *opaque, const void *data, size_t len);
  void *opaque;
};

/* Measure the costs, as times in picoseconds.  COSTS->single is the time in
 * which SINGLE hashes one message block, and COSTS->call[i] the time in which
 * kernel i of HASH hashes one message block in every lane.  COSTS->call[i] is 0
 * if bit i of USABLE is not set, or if the kernel is far slower than SINGLE.
 * The kernels in USABLE must have passed their self-test.  A measurement takes
 * some hundred microseconds.  Returns 0, or the error that SINGLE returned.
 */
int lane_costs_measure (const struct lane_hash *hash, unsigned usable,
                        const struct single_hash *single,
                        struct lane_costs *costs);

/* Returns the time of the monotonic clock, in nanoseconds. */
uint64_t lane_time (void);

#endif /* BLKHASH_LANES_MEASURE_H */
