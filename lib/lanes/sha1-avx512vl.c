/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-1 of eight messages with AVX-512 instructions on vectors of 256 bits.
 * For at most eight messages this kernel is faster than sha1-avx512.c, which
 * hashes 16.  The algorithm is in sha1-vector.h.
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>

#include "common/cpu.h"
#include "lanes/sha1.h"

#define WORD 32
#include "lanes/vector-avx512vl.h"
#include "lanes/sha1-vector.h"

static TARGET void
compress (void *state, const unsigned char *const *data, size_t blocks)
{
  compress_lanes (state, data, blocks);
}

const struct lane_kernel sha1_avx512_x8 = {
  .name = "avx512-x8",
  .lanes = LANES,
  .cpu = CPU_AVX512,
  .cost = 416,
  .compress = compress,
};

#endif /* __x86_64__ */
