/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * BLAKE2b of eight messages with AVX-512.  The algorithm is in
 * blake2b-vector.h.
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"

#include "lanes/vector-avx512.h"
#include "lanes/blake2b-vector.h"

static TARGET void
compress (void *state, const unsigned char *const *data, size_t blocks)
{
  compress_lanes (state, data, blocks);
}

const struct lane_kernel blake2b_avx512_x8 = {
  .name = "avx512-x8",
  .lanes = LANES,
  .cpu = CPU_AVX512,
  .cost = 143,
  .compress = compress,
};

#endif /* __x86_64__ */
