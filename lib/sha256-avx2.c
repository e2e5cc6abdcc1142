/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 of eight messages with AVX2.  What it does is in sha256-vector.h.
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>

#include "cpu.h"
#include "sha256.h"

#define TARGET __attribute__ ((target ("avx2")))
#define INLINE inline __attribute__ ((always_inline)) TARGET
#define LANES 8

typedef __m256i vec;

#define add _mm256_add_epi32
#define every(k) _mm256_set1_epi32 (k)
#define unpack_lo32 _mm256_unpacklo_epi32
#define unpack_hi32 _mm256_unpackhi_epi32
#define unpack_lo64 _mm256_unpacklo_epi64
#define unpack_hi64 _mm256_unpackhi_epi64
#define shift _mm256_srli_epi32
#define rotate(x, n) \
  _mm256_or_si256 (_mm256_srli_epi32 (x, n), _mm256_slli_epi32 (x, 32 - (n)))

static INLINE vec
xor3 (vec a, vec b, vec c)
{
  return _mm256_xor_si256 (a, _mm256_xor_si256 (b, c));
}

static INLINE vec
choose (vec e, vec f, vec g)
{
  return _mm256_xor_si256 (g, _mm256_and_si256 (e, _mm256_xor_si256 (f, g)));
}

/* B ^ C was A ^ B in the round before. */
static INLINE vec
majority (vec a, vec b, vec c)
{
  return _mm256_xor_si256 (b, _mm256_and_si256 (_mm256_xor_si256 (a, b),
                                                _mm256_xor_si256 (b, c)));
}

static INLINE vec
swap_bytes (vec a)
{
  const __m128i order = _mm_set_epi8 (12, 13, 14, 15, 8, 9, 10, 11,
                                      4, 5, 6, 7, 0, 1, 2, 3);

  return _mm256_shuffle_epi8 (a, _mm256_broadcastsi128_si256 (order));
}

static INLINE __m128i
piece (const unsigned char *p)
{
  return _mm_loadu_si128 ((const __m128i *) p);
}

static INLINE vec
load_pieces (const unsigned char *const *data, size_t offset)
{
  return _mm256_inserti128_si256
    (_mm256_castsi128_si256 (piece (data[0] + offset)),
     piece (data[4] + offset), 1);
}

static INLINE vec
load_state (const uint32_t *p)
{
  return _mm256_load_si256 ((const __m256i *) p);
}

static INLINE void
store_state (uint32_t *p, vec x)
{
  _mm256_store_si256 ((__m256i *) p, x);
}

#include "sha256-vector.h"

static TARGET void
compress (void *state, const unsigned char *const *data, size_t blocks)
{
  compress_lanes (state, data, blocks);
}

const struct lane_kernel sha256_avx2_x8 = {
  .name = "avx2-x8",
  .lanes = LANES,
  .cpu = CPU_AVX2,
  .cost = 910,
  .compress = compress,
};

#endif /* __x86_64__ */
