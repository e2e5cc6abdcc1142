/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * BLAKE2b of four messages with AVX-512 instructions on vectors of 256 bits.
 * For at most four messages this kernel is faster than blake2b-avx512.c, which
 * hashes eight.  The algorithm is in blake2b-vector.h.
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"

#include "lanes/vector-avx512vl.h"
#include "lanes/blake2b-vector.h"

static TARGET void
compress (void *state, const unsigned char *const *data, size_t blocks)
{
  compress_lanes (state, data, blocks);
}

const struct lane_kernel blake2b_avx512_x4 = {
  .name = "avx512-x4",
  .lanes = LANES,
  .cpu = CPU_AVX512,
  .cost = 114,
  .compress = compress,
};

#endif /* __x86_64__ */
