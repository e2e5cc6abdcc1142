/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 of 16 and of 32 messages with AVX-512.  The algorithm is in
 * sha256-vector.h.
 *
 * Which of these kernels is the fastest depends on the number of units that a
 * CPU has for vectors of 512 bits, and on their latency.  With two units, as on
 * Intel CPUs, the limit is throughput, and x16 is the fastest, because it has
 * the fewest instructions.  With four units, as on Zen 5, latency limits 16
 * messages.  For such CPUs x16s has a shorter dependency chain, at the cost of
 * one more addition per round, and x32 has two independent chains.  None of
 * these kernels was measured on Zen 5; the costs of x16s and x32 were derived
 * from that of x16 by the ratios on Cascade Lake.
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>
#include <stdbool.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"

#define TARGET __attribute__ ((target ("avx512f,avx512bw")))
#define INLINE inline __attribute__ ((always_inline)) TARGET
#define LANES 16
#define MAX_GROUPS 2

typedef __m512i vec;

#define set1(k) _mm512_set1_epi32 (k)
#define shift _mm512_srli_epi32
#define rotate _mm512_ror_epi32

/* The last operand is the truth table. */
#define xor3(a, b, c) _mm512_ternarylogic_epi32 (a, b, c, 0x96)
#define choose(e, f, g) _mm512_ternarylogic_epi32 (e, f, g, 0xca)
#define majority(a, b, c) _mm512_ternarylogic_epi32 (a, b, c, 0xe8)

/* Hide from GCC that this is a sum.  Otherwise GCC reorders the additions, and
 * adds the constant of the round last, although it is ready first.  The next
 * round would have to wait for that addition, which makes the kernel 5 % slower
 * on Cascade Lake.  The statement is volatile, so that the code between two
 * sums stays there; this makes the kernel 2 % faster on Cascade Lake.
 */
static INLINE vec
add (vec a, vec b)
{
  vec sum = _mm512_add_epi32 (a, b);

  __asm__ volatile ("" : "+v" (sum));
  return sum;
}

static INLINE vec
swap_bytes (vec x)
{
  const __m128i order = _mm_set_epi8 (12, 13, 14, 15, 8, 9, 10, 11,
                                      4, 5, 6, 7, 0, 1, 2, 3);

  return _mm512_shuffle_epi8 (x, _mm512_broadcast_i32x4 (order));
}

/* Load cache lines of four lanes: X[i] is set to their words i, 4 + i, 8 + i
 * and 12 + i.
 */
static INLINE void
read_lines (vec x[4], const unsigned char *const *data, size_t offset,
            const unsigned step)
{
  vec a = _mm512_loadu_si512 (data[4 * step] + offset);
  vec b = _mm512_loadu_si512 (data[4 * step + 1] + offset);
  vec c = _mm512_loadu_si512 (data[4 * step + 2] + offset);
  vec d = _mm512_loadu_si512 (data[4 * step + 3] + offset);
  vec ab01 = _mm512_unpacklo_epi32 (a, b), ab23 = _mm512_unpackhi_epi32 (a, b);
  vec cd01 = _mm512_unpacklo_epi32 (c, d), cd23 = _mm512_unpackhi_epi32 (c, d);

  x[0] = _mm512_unpacklo_epi64 (ab01, cd01);
  x[1] = _mm512_unpackhi_epi64 (ab01, cd01);
  x[2] = _mm512_unpacklo_epi64 (ab23, cd23);
  x[3] = _mm512_unpackhi_epi64 (ab23, cd23);
}

/* Convert four vectors, each with four words of four lanes, to four vectors,
 * each with one word of all lanes.
 */
static INLINE void
make_words (vec x[4])
{
  vec ab01 = _mm512_shuffle_i32x4 (x[0], x[1], 0x44);
  vec ab23 = _mm512_shuffle_i32x4 (x[0], x[1], 0xee);
  vec cd01 = _mm512_shuffle_i32x4 (x[2], x[3], 0x44);
  vec cd23 = _mm512_shuffle_i32x4 (x[2], x[3], 0xee);

  x[0] = _mm512_shuffle_i32x4 (ab01, cd01, 0x88);
  x[1] = _mm512_shuffle_i32x4 (ab01, cd01, 0xdd);
  x[2] = _mm512_shuffle_i32x4 (ab23, cd23, 0x88);
  x[3] = _mm512_shuffle_i32x4 (ab23, cd23, 0xdd);
}

#define WORD_NUMBER(step, i) (4 * (i) + (step))

#define load_state(p) _mm512_load_si512 (p)
#define store_state(p, x) _mm512_store_si512 (p, x)

#include "lanes/sha256-vector.h"

#define KERNEL(NAME, GROUPS, SHORT_CHAIN, COST)                         \
  static TARGET void                                                    \
  compress_##NAME (void *state, const unsigned char *const *data,       \
                   size_t blocks)                                       \
  {                                                                     \
    compress_groups (state, data, blocks, GROUPS, SHORT_CHAIN);         \
  }                                                                     \
                                                                        \
  const struct lane_kernel sha256_avx512_##NAME = {                     \
    .name = "avx512-" #NAME,                                            \
    .lanes = GROUPS * LANES,                                            \
    .cpu = CPU_AVX512,                                                  \
    .cost = COST,                                                       \
    .compress = compress_##NAME,                                        \
  }

KERNEL (x16, 1, false, 610);
KERNEL (x16s, 1, true, 640);
KERNEL (x32, 2, false, 1250);

#endif /* __x86_64__ */
