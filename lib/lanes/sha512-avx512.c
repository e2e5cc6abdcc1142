/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-512 of 8 and of 16 messages with AVX-512.  The algorithm is in
 * sha512-vector.h.
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"

#include "lanes/vector-avx512.h"
#include "lanes/sha512-vector.h"

static TARGET void
compress_x8 (void *state, const unsigned char *const *data, size_t blocks)
{
  compress_groups (state, data, blocks, 1);
}

static TARGET void
compress_x16 (void *state, const unsigned char *const *data, size_t blocks)
{
  compress_groups (state, data, blocks, 2);
}

const struct lane_kernel sha512_avx512_x8 = {
  .name = "avx512-x8",
  .lanes = LANES,
  .cpu = CPU_AVX512,
  .cost = 197,
  .compress = compress_x8,
};

const struct lane_kernel sha512_avx512_x16 = {
  .name = "avx512-x16",
  .lanes = 2 * LANES,
  .cpu = CPU_AVX512,
  .cost = 415,
  .compress = compress_x16,
};

#endif /* __x86_64__ */
