/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-512 of four messages with AVX2.  The algorithm is in sha512-vector.h.
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"

#include "lanes/vector-avx2.h"
#include "lanes/sha512-vector.h"

static TARGET void
compress (void *state, const unsigned char *const *data, size_t blocks)
{
  compress_groups (state, data, blocks, 1);
}

const struct lane_kernel sha512_avx2_x4 = {
  .name = "avx2-x4",
  .lanes = LANES,
  .cpu = CPU_AVX2,
  .cost = 236,
  .compress = compress,
};

#endif /* __x86_64__ */
