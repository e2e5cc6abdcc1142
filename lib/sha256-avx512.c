/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 of 16 messages with AVX-512.  What it does is in sha256-vector.h.
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>

#include "cpu.h"
#include "sha256.h"

#define TARGET __attribute__ ((target ("avx512f,avx512bw")))
#define INLINE inline __attribute__ ((always_inline)) TARGET
#define LANES 16

typedef __m512i vec;

#define add _mm512_add_epi32
#define every(k) _mm512_set1_epi32 (k)
#define unpack_lo32 _mm512_unpacklo_epi32
#define unpack_hi32 _mm512_unpackhi_epi32
#define unpack_lo64 _mm512_unpacklo_epi64
#define unpack_hi64 _mm512_unpackhi_epi64
#define shift _mm512_srli_epi32
#define rotate _mm512_ror_epi32

/* The last number is the table of truth. */
#define xor3(a, b, c) _mm512_ternarylogic_epi32 (a, b, c, 0x96)
#define choose(e, f, g) _mm512_ternarylogic_epi32 (e, f, g, 0xca)
#define majority(a, b, c) _mm512_ternarylogic_epi32 (a, b, c, 0xe8)

static INLINE vec
swap_bytes (vec x)
{
  const __m128i order = _mm_set_epi8 (12, 13, 14, 15, 8, 9, 10, 11,
                                      4, 5, 6, 7, 0, 1, 2, 3);

  return _mm512_shuffle_epi8 (x, _mm512_broadcast_i32x4 (order));
}

static INLINE __m128i
piece (const unsigned char *p)
{
  return _mm_loadu_si128 ((const __m128i *) p);
}

static INLINE vec
load_pieces (const unsigned char *const *data, size_t offset)
{
  vec x = _mm512_castsi128_si512 (piece (data[0] + offset));

  x = _mm512_mask_broadcast_i32x4 (x, 0x00f0, piece (data[4] + offset));
  x = _mm512_mask_broadcast_i32x4 (x, 0x0f00, piece (data[8] + offset));
  return _mm512_mask_broadcast_i32x4 (x, 0xf000, piece (data[12] + offset));
}

#define load_state(p) _mm512_load_si512 (p)
#define store_state(p, x) _mm512_store_si512 (p, x)

#include "sha256-vector.h"

static TARGET void
compress (void *state, const unsigned char *const *data, size_t blocks)
{
  compress_lanes (state, data, blocks);
}

const struct lane_kernel sha256_avx512_x16 = {
  .name = "avx512-x16",
  .lanes = LANES,
  .cpu = CPU_AVX512,
  .cost = 700,
  .compress = compress,
};

#endif /* __x86_64__ */
