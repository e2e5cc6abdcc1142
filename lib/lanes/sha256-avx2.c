/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 of eight messages with AVX2.  The algorithm is in sha256-vector.h.
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"

#define TARGET __attribute__ ((target ("avx2")))
#define INLINE inline __attribute__ ((always_inline)) TARGET
#define LANES 8
#define MAX_GROUPS 1
#define AHEAD 256               /* prefetch distance in bytes; can pass the
                                 * end of the data */

typedef __m256i vec;

#define set1(k) _mm256_set1_epi32 (k)

/* Hide from GCC how X is computed, so that GCC cannot move the computation. */
static INLINE vec
opaque (vec x)
{
  __asm__ ("" : "+x" (x));
  return x;
}

/* Without the call of opaque, GCC reorders the additions, and adds the constant
 * of the round last, although it is ready first.  The next round would have to
 * wait for that addition.
 */
static INLINE vec
add (vec a, vec b)
{
  return opaque (_mm256_add_epi32 (a, b));
}

/* Only two of the three vector units of Intel CPUs can shift.  Without opaque,
 * GCC places all shifts of three rotations first, and the third unit is idle
 * during that time, which makes the kernel 4 % slower on Cascade Lake.
 */
#define shift(x, n) opaque (_mm256_srli_epi32 (x, n))
#define rotate(x, n)                                                    \
  opaque (_mm256_or_si256 (_mm256_srli_epi32 (x, n),                    \
                           _mm256_slli_epi32 (x, 32 - (n))))

static INLINE vec
xor3 (vec a, vec b, vec c)
{
  return opaque (_mm256_xor_si256 (opaque (_mm256_xor_si256 (a, b)), c));
}

static INLINE vec
choose (vec e, vec f, vec g)
{
  return _mm256_xor_si256 (g, _mm256_and_si256 (e, _mm256_xor_si256 (f, g)));
}

/* B ^ C was already computed, as the A ^ B of the previous round. */
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

/* Load the cache lines of two lanes, in pieces of four words, and prefetch
 * later lines.  On Cascade Lake the prefetch makes this kernel 1 to 2 % faster
 * if the lines are not in the L2 cache.  It would make the kernels in
 * sha256-avx512.c slower by as much, so they do not prefetch.
 */
static INLINE void
read_lines (vec x[4], const unsigned char *const *data, size_t offset,
            const unsigned step)
{
  _mm_prefetch (data[step] + offset + AHEAD, _MM_HINT_T0);
  _mm_prefetch (data[step + 4] + offset + AHEAD, _MM_HINT_T0);
#pragma GCC unroll 4
  for (unsigned i = 0; i < 4; i++)
    x[i] = _mm256_inserti128_si256
      (_mm256_castsi128_si256 (piece (data[step] + offset + i * 16)),
       piece (data[step + 4] + offset + i * 16), 1);
}

/* Convert four vectors, each with four words of two lanes, to four vectors,
 * each with one word of all lanes.
 */
static INLINE void
make_words (vec x[4])
{
  vec ab01 = _mm256_unpacklo_epi32 (x[0], x[1]);
  vec ab23 = _mm256_unpackhi_epi32 (x[0], x[1]);
  vec cd01 = _mm256_unpacklo_epi32 (x[2], x[3]);
  vec cd23 = _mm256_unpackhi_epi32 (x[2], x[3]);

  x[0] = _mm256_unpacklo_epi64 (ab01, cd01);
  x[1] = _mm256_unpackhi_epi64 (ab01, cd01);
  x[2] = _mm256_unpacklo_epi64 (ab23, cd23);
  x[3] = _mm256_unpackhi_epi64 (ab23, cd23);
}

#define WORD_NUMBER(step, i) (4 * (step) + (i))

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

#include "lanes/sha256-vector.h"

static TARGET void
compress (void *state, const unsigned char *const *data, size_t blocks)
{
  compress_groups (state, data, blocks, 1, false);
}

const struct lane_kernel sha256_avx2_x8 = {
  .name = "avx2-x8",
  .lanes = LANES,
  .cpu = CPU_AVX2,
  .cost = 820,
  .compress = compress,
};

#endif /* __x86_64__ */
