/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Measure what each kernel costs on this CPU, and a hash of one message that
 * the caller passes.
 */

#ifndef BLKHASH_LANES_MEASURE_H
#define BLKHASH_LANES_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "lanes/lane-kernel.h"
#include "lanes/lanes-plan.h"         /* struct lane_costs */

/* The caller's own hash of one message: add LEN bytes of DATA to it.  0 or an
 * errno value.
 */
struct lane_one {
  int (*update) (void *opaque, const void *data, size_t len);
  void *opaque;
};

/* Fill COSTS with the picoseconds that a message block takes, of ONE and of the
 * kernels of HASH whose bit is set in USABLE; they must have been proven.  It
 * takes some hundred microseconds.  0, or what ONE returned.
 */
int lane_costs_measure (const struct lane_hash *hash, unsigned usable,
                        const struct lane_one *one, struct lane_costs *costs);

/* Nanoseconds of the monotonic clock. */
uint64_t lane_time (void);

#endif /* BLKHASH_LANES_MEASURE_H */
