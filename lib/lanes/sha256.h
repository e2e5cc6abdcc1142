/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 as a hash of many messages at a time: declarations for sha256.c,
 * which has the constants, and for the sha256-*.c, which are kernels: SIMD
 * (multi-buffer) implementations.
 */

#ifndef BLKHASH_SHA256_H
#define BLKHASH_SHA256_H

#include <stdint.h>

#include "lanes/lane-kernel.h"

/* The state of a kernel is uint32_t[8][lanes].  A message block has 64 bytes.
 */
extern const struct lane_kernel sha256_avx512sha_x4, sha256_avx512_x16,
  sha256_avx512_x16s, sha256_avx512_x32, sha256_avx2_x8, sha256_shani_x2,
  sha256_shani_x3, sha256_shani_x4, sha256_arm64_x2, sha256_arm64_x3,
  sha256_arm64_x4;

/* The constants of the 64 rounds, aligned to 64. */
extern const uint32_t sha256_k[64];

extern const struct lane_hash sha256_lane_hash;

#endif /* BLKHASH_SHA256_H */
