/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-512 and SHA-384 as hashes of many messages at a time: declarations for
 * sha512.c, which has the constants, and for the sha512-*.c, which are kernels:
 * SIMD (multi-buffer) implementations.
 */

#ifndef BLKHASH_SHA512_H
#define BLKHASH_SHA512_H

#include <stdint.h>

#include "lanes/lane-kernel.h"

/* The state of a kernel is uint64_t[8][lanes].  A message block has 128 bytes.
 */
extern const struct lane_kernel sha512_avx512_x16, sha512_avx512_x8,
  sha512_avx512_x4, sha512_avx2_x4;

/* The constants of the 80 rounds, aligned to 64. */
extern const uint64_t sha512_k[80];

extern const struct lane_hash sha384_lane_hash, sha512_lane_hash;

#endif /* BLKHASH_SHA512_H */
