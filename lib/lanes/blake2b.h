/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * BLAKE2b as a hash of many messages at a time: declarations for blake2b.c,
 * which has the constants, and for the blake2b-*.c, which are kernels: SIMD
 * (multi-buffer) implementations.
 */

#ifndef BLKHASH_BLAKE2B_H
#define BLKHASH_BLAKE2B_H

#include <stdint.h>

#include "lanes/lane-kernel.h"

/* The state of a kernel is uint64_t[10][lanes].  A message block has 128 bytes.
 */
extern const struct lane_kernel blake2b_avx512_x8, blake2b_avx512_x4,
  blake2b_avx2_x4;

extern const uint64_t blake2b_iv[8];

extern const struct lane_hash blake2b_256_lane_hash, blake2b_512_lane_hash;

#endif /* BLKHASH_BLAKE2B_H */
