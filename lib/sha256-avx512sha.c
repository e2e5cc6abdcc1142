/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 of four messages with AVX-512 for the message schedule and with the
 * instructions for SHA-256 for the rounds.
 *
 * Each does what it does best: two rounds of a message are one instruction for
 * SHA-256 and 34 with AVX-512, which is faster with the schedule.  They run in
 * different units of the CPU, so while the rounds of two message blocks of each
 * lane are done, those of the four lanes interleaved, the schedule of the next
 * two is made: it does not depend on the rounds.  Its vectors have 256 bits,
 * four lanes times two blocks: with 512 the two get in each other's way
 * (measured on Zen 4).
 *
 * Only for CPUs by AMD.  The instructions for SHA-256 have no VEX form, and one
 * by Intel takes hundreds of cycles for each while upper halves of registers
 * are in use: there this is a hundred times slower than OpenSSL (measured on
 * Emerald Rapids).
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>
#include <stdalign.h>
#include <stdbool.h>

#include "cpu.h"
#include "sha256.h"

#define TARGET __attribute__ ((target ("avx512f,avx512bw,avx512vl,sha")))
#define INLINE inline __attribute__ ((always_inline)) TARGET
#define LANES 4
#define AHEAD 256               /* bytes to prefetch: beyond the end, maybe */

typedef __m256i vec;

#define add _mm256_add_epi32
#define every(k) _mm256_set1_epi32 (k)
#define shift _mm256_srli_epi32
#define rotate _mm256_ror_epi32
#define xor3(a, b, c) _mm256_ternarylogic_epi32 (a, b, c, 0x96)
#define sigma0(x) xor3 (rotate (x, 7), rotate (x, 18), shift (x, 3))
#define sigma1(x) xor3 (rotate (x, 17), rotate (x, 19), shift (x, 10))

/* The words of the schedule with the constants of their rounds added, those of
 * two rounds of a lane together, as the rounds take them: lanes 0, 1, 4 and 5,
 * then 2, 3, 6 and 7, where 4 to 7 are the second blocks of lanes 0 to 3.
 */
struct schedule {
  alignas (64) uint64_t rounds[32][2][4];
};

struct lane {
  __m128i abef, cdgh;           /* the first letter is topmost */
};

static INLINE __m128i
piece (const unsigned char *p)
{
  return _mm_loadu_si128 ((const __m128i *) p);
}

/* Half of two message blocks of a lane, as pieces of vectors. */
static INLINE void
load_pieces (vec w[16], unsigned lane, unsigned half,
             const unsigned char *const *data, size_t offset)
{
  _mm_prefetch (data[lane + half * 4] + offset + AHEAD, _MM_HINT_T0);
#pragma GCC unroll 2
  for (unsigned i = half * 2; i < half * 2 + 2; i++)
    w[i * 4 + lane] = _mm256_inserti128_si256
      (_mm256_castsi128_si256 (piece (data[lane] + offset + i * 16)),
       piece (data[lane + 4] + offset + i * 16), 1);
}

static INLINE vec
swap_bytes (vec x)
{
  const __m128i order = _mm_set_epi8 (12, 13, 14, 15, 8, 9, 10, 11,
                                      4, 5, 6, 7, 0, 1, 2, 3);

  return _mm256_shuffle_epi8 (x, _mm256_broadcastsi128_si256 (order));
}

/* Four vectors of pieces become four words of all lanes. */
static INLINE void
transpose (vec w[4])
{
  vec ab01 = _mm256_unpacklo_epi32 (w[0], w[1]);
  vec ab23 = _mm256_unpackhi_epi32 (w[0], w[1]);
  vec cd01 = _mm256_unpacklo_epi32 (w[2], w[3]);
  vec cd23 = _mm256_unpackhi_epi32 (w[2], w[3]);

  w[0] = swap_bytes (_mm256_unpacklo_epi64 (ab01, cd01));
  w[1] = swap_bytes (_mm256_unpackhi_epi64 (ab01, cd01));
  w[2] = swap_bytes (_mm256_unpacklo_epi64 (ab23, cd23));
  w[3] = swap_bytes (_mm256_unpackhi_epi64 (ab23, cd23));
}

/* Words T and T + 1 are done. */
static INLINE void
put (struct schedule *to, unsigned t, const vec w[16])
{
  const uint32_t *k = sha256_k;
  vec w0, w1;

  /* Else GCC makes a vector of each constant before the loop. */
  __asm__ ("" : "+r" (k));
  w0 = add (w[t % 16], every (k[t]));
  w1 = add (w[t % 16 + 1], every (k[t + 1]));
  _mm256_store_si256 ((__m256i *) to->rounds[t / 2][0],
                      _mm256_unpacklo_epi32 (w0, w1));
  _mm256_store_si256 ((__m256i *) to->rounds[t / 2][1],
                      _mm256_unpackhi_epi32 (w0, w1));
}

/* The schedule of the message block at OFFSET is made in 64 steps, about as
 * long as each other: the first 16 words are the block itself, each of the
 * others comes from the 16 before.
 */
static INLINE void
make (struct schedule *to, vec w[16], const unsigned step,
      const unsigned char *const *data, size_t offset)
{
  if (step < 8)
    load_pieces (w, step / 2, step % 2, data, offset);
  else if (step < 16) {
    const unsigned t = (step - 8) / 2 * 4;

    if (step % 2 == 0)
      transpose (w + t);
    else {
      put (to, t, w);
      put (to, t + 2, w);
    }
  }
  else {
    w[step % 16] = add (add (w[step % 16], w[(step + 9) % 16]),
                        add (sigma0 (w[(step + 1) % 16]),
                             sigma1 (w[(step + 14) % 16])));
    if (step % 2 == 1)
      put (to, step - 1, w);
  }
}

/* For the rounds 2 I and 2 I + 1 of a lane. */
static INLINE const uint64_t *
words (const struct schedule *from, unsigned i, unsigned lane)
{
  return &from->rounds[i][lane % 4 / 2][lane / 4 * 2 + lane % 2];
}

/* No intrinsics: GCC would give the registers that these instructions need to
 * the schedule, and move the state to and fro.  Volatile, so that what is
 * interleaved here stays so.
 */
#define ROUNDS(x, y, i)                                                 \
  __asm__ volatile ("vmovq %8, %%xmm0\n\tsha256rnds2 %4, %0\n\t"        \
                    "vmovq %9, %%xmm0\n\tsha256rnds2 %5, %1\n\t"        \
                    "vmovq %10, %%xmm0\n\tsha256rnds2 %6, %2\n\t"       \
                    "vmovq %11, %%xmm0\n\tsha256rnds2 %7, %3"           \
                    : "+x" (x##0), "+x" (x##1), "+x" (x##2), "+x" (x##3) \
                    : "x" (y##0), "x" (y##1), "x" (y##2), "x" (y##3),   \
                      "m" (*words (from, i, first)),                    \
                      "m" (*words (from, i, first + 1)),                \
                      "m" (*words (from, i, first + 2)),                \
                      "m" (*words (from, i, first + 3))                 \
                    : "xmm0")

#define ADD(n)                                                          \
  lane[n].abef = _mm_add_epi32 (lane[n].abef, abef##n);                 \
  lane[n].cdgh = _mm_add_epi32 (lane[n].cdgh, cdgh##n)

/* The registers are named because only half of all will do for the rounds, and
 * GCC gives them to W.  A named one is lost in a call, which nobody makes here
 * but TSan.
 */
#ifdef __SANITIZE_THREAD__
#define IN(name)
#else
#define IN(name) __asm__ (name)
#endif

/* The rounds of the four lanes LANE, with those from FIRST on of the schedule
 * FROM, and half of the schedule TO.
 */
static INLINE void
one_block (struct lane *lane, const unsigned first,
           const struct schedule *from, struct schedule *to, vec w[16],
           const unsigned char *const *data, size_t offset)
{
  register __m128i abef0 IN ("xmm1") = lane[0].abef;
  register __m128i cdgh0 IN ("xmm2") = lane[0].cdgh;
  register __m128i abef1 IN ("xmm3") = lane[1].abef;
  register __m128i cdgh1 IN ("xmm4") = lane[1].cdgh;
  register __m128i abef2 IN ("xmm5") = lane[2].abef;
  register __m128i cdgh2 IN ("xmm6") = lane[2].cdgh;
  register __m128i abef3 IN ("xmm7") = lane[3].abef;
  register __m128i cdgh3 IN ("xmm8") = lane[3].cdgh;

#pragma GCC unroll 16
  for (unsigned i = 0; i < 16; i++) {
    ROUNDS (cdgh, abef, 2 * i);
    make (to, w, first * 8 + 2 * i, data, offset);
    ROUNDS (abef, cdgh, 2 * i + 1);
    make (to, w, first * 8 + 2 * i + 1, data, offset);
  }
  ADD (0);
  ADD (1);
  ADD (2);
  ADD (3);
}

/* Pairs of message blocks, PAIRS of them, at least one.  LANES 4 to 7 of the
 * schedule are those of the second blocks.
 */
static INLINE void
hash (struct lane lane[LANES], const unsigned char *const *data, size_t pairs)
{
  const unsigned char *from[2 * LANES];
  struct schedule schedule[2];
  vec w[16];
  size_t i, n, next;

  for (n = 0; n < LANES; n++) {
    from[n] = data[n];
    from[n + LANES] = data[n] + 64;
  }
#pragma GCC unroll 64
  for (i = 0; i < 64; i++)
    make (&schedule[0], w, i, from, 0);
  for (i = 0; i < pairs; i++) {
    next = i + 1 < pairs ? i + 1 : i; /* the last one twice, for nothing */
    one_block (lane, 0, &schedule[i % 2], &schedule[(i + 1) % 2], w, from,
               next * 128);
    one_block (lane, LANES, &schedule[i % 2], &schedule[(i + 1) % 2], w, from,
               next * 128);
  }
}

static TARGET void
compress (void *to, const unsigned char *const *data, size_t blocks)
{
  uint32_t *state = to;
  struct lane lane[LANES];
  const unsigned char *last[LANES];
  size_t n;

#define S(word) state[(word) * LANES + n]
  if (blocks > 1) {
    for (n = 0; n < LANES; n++) {
      lane[n].abef = _mm_set_epi32 (S (0), S (1), S (4), S (5));
      lane[n].cdgh = _mm_set_epi32 (S (2), S (3), S (6), S (7));
    }
    hash (lane, data, blocks / 2);
    for (n = 0; n < LANES; n++) {
      S (0) = _mm_extract_epi32 (lane[n].abef, 3);
      S (1) = _mm_extract_epi32 (lane[n].abef, 2);
      S (4) = _mm_extract_epi32 (lane[n].abef, 1);
      S (5) = _mm_extract_epi32 (lane[n].abef, 0);
      S (2) = _mm_extract_epi32 (lane[n].cdgh, 3);
      S (3) = _mm_extract_epi32 (lane[n].cdgh, 2);
      S (6) = _mm_extract_epi32 (lane[n].cdgh, 1);
      S (7) = _mm_extract_epi32 (lane[n].cdgh, 0);
    }
  }
#undef S
  if (blocks % 2) {
    for (n = 0; n < LANES; n++)
      last[n] = data[n] + (blocks - 1) * 64;
    sha256_shani_x4.compress (state, last, 1);
  }
}

const struct lane_kernel sha256_avx512sha_x4 = {
  .name = "avx512sha-x4",
  .lanes = LANES,
  .cpu = CPU_AVX512 | CPU_SHANI | CPU_AMD,
  .cost = 127,
  .compress = compress,
};

#endif /* __x86_64__ */
