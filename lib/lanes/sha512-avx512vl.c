/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-512 of four messages with AVX-512 instructions on vectors of 256 bits.
 * For at most four messages this kernel is faster than those of
 * sha512-avx512.c, which hash 8 or 16.  The algorithm is in sha512-vector.h.
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"

#include "lanes/vector-avx512vl.h"
#include "lanes/sha512-vector.h"

static TARGET void
compress (void *state, const unsigned char *const *data, size_t blocks)
{
  compress_groups (state, data, blocks, 1);
}

const struct lane_kernel sha512_avx512_x4 = {
  .name = "avx512-x4",
  .lanes = LANES,
  .cpu = CPU_AVX512,
  .cost = 118,
  .compress = compress,
};

#endif /* __x86_64__ */
