/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-1 as a hash of many messages at a time: declarations for sha1.c, and for
 * the sha1-*.c, which are kernels: SIMD (multi-buffer) implementations.
 */

#ifndef BLKHASH_SHA1_H
#define BLKHASH_SHA1_H

#include <stdint.h>

#include "lanes/lane-kernel.h"

/* The state of a kernel is uint32_t[5][lanes].  A message block has 64 bytes.
 */
extern const struct lane_kernel sha1_avx512_x16, sha1_avx512_x8, sha1_avx2_x8;

/* The constants of the rounds.  Each is used in 20 rounds. */
static const uint32_t sha1_k[4] = {
  0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6,
};

extern const struct lane_hash sha1_lane_hash;

#endif /* BLKHASH_SHA1_H */
