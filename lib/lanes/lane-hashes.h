/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The hashes that have SIMD (multi-buffer) implementations, called kernels.
 */

#ifndef BLKHASH_LANE_HASHES_H
#define BLKHASH_LANE_HASHES_H

#include "lanes/lane-kernel.h"

/* Terminated by NULL. */
extern const struct lane_hash *const lane_hashes[];

#endif /* BLKHASH_LANE_HASHES_H */
