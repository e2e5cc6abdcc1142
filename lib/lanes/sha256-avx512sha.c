/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 of four messages with AVX-512 for the message schedule and with the
 * instructions for SHA-256 for the rounds.
 *
 * Each instruction set does what it does best.  Two rounds of a message take
 * one SHA-256 instruction, or 34 AVX-512 instructions, but AVX-512 computes the
 * schedule faster.  The instructions of the two sets run in different units of
 * the CPU.  So the rounds of two message blocks of each lane, interleaved
 * between the four lanes, run at the same time as the schedule of the next two
 * blocks, which does not depend on the rounds.  The schedule uses vectors of
 * 256 bits, that is, four lanes times two blocks.  With vectors of 512 bits the
 * rounds and the schedule slow each other down (measured on Zen 4).
 *
 * The speed depends on the order of the instructions and on their registers, so
 * both are fixed in the source.  The order is the fastest of some thousand that
 * were measured on Zen 4, and makes the kernel 4 to 5 % faster there than the
 * code that GCC generates.  Other orders that look equally good are up to 15 %
 * slower, so measure any change.
 *
 * This kernel is used only on AMD CPUs.  The SHA-256 instructions have no VEX
 * form, and an Intel CPU takes hundreds of cycles for each of them while upper
 * halves of vector registers are in use.  This makes the kernel a hundred times
 * slower than OpenSSL there (measured on Emerald Rapids).
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>
#include <stdalign.h>
#include <stdbool.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"

#define TARGET __attribute__ ((target ("avx512f,avx512bw,avx512vl,sha")))
#define INLINE inline __attribute__ ((always_inline)) TARGET
#define LANES 4
#define STATE_WORDS (8 * LANES) /* 128 bytes, a multiple of 64 */
#define AHEAD 256               /* prefetch distance in bytes; can pass the
                                 * end of the data */

typedef __m256i vec;

/* The words of the schedule, to which the constants of their rounds are already
 * added.  The words of two rounds of a lane are adjacent, as the instruction
 * for the rounds needs them.  The order is: lanes 0, 1, 4 and 5, then 2, 3, 6
 * and 7, where 4 to 7 are the second blocks of lanes 0 to 3.
 */
struct schedule {
  alignas (64) uint64_t rounds[32][2][4];
};

static const alignas (32) unsigned char big_endian[32] = {
  3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
  3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12,
};

struct lane {
  __m128i abef, cdgh;           /* the first letter is the most significant
                                 * word */
};

/* Returns the two words for pair R of the rounds of a lane.  R is less than 64:
 * each of the two message blocks has 32 pairs of rounds.
 */
static INLINE const uint64_t *
words (const struct schedule *from, unsigned r, unsigned lane)
{
  return &from->rounds[r % 32][lane / 2][r / 32 * 2 + lane % 2];
}

/* The asm statements are volatile, so GCC keeps them in the order of the
 * source.
 *
 * Run two rounds of lane N.  The halves of its state swap their roles after
 * each pair of rounds, so there is one macro for even R and one for odd R.
 */
#define TWO_ROUNDS(x, y, r, n)                                          \
  do {                                                                  \
    if (rounds)                                                         \
      __asm__ volatile ("vmovq %2, %%xmm0\n\tsha256rnds2 %1, %0"        \
                        : "+x" (x##n)                                   \
                        : "x" (y##n), "m" (*words (from, r, n))         \
                        : "xmm0");                                      \
  } while (0)
#define EVEN(r, n) TWO_ROUNDS (cdgh, abef, r, n)
#define ODD(r, n) TWO_ROUNDS (abef, cdgh, r, n)

#define VEC2(name, to, x, y)                                            \
  __asm__ volatile (name " %2, %1, %0" : "=v" (to) : "v" (x), "v" (y))
#define PLUS(to, x, y) VEC2 ("vpaddd", to, x, y)
#define ROTATE(to, x, bits)                                             \
  __asm__ volatile ("vprord $" #bits ", %1, %0" : "=v" (to) : "v" (x))
#define SHIFT(to, x, bits)                                              \
  __asm__ volatile ("vpsrld $" #bits ", %1, %0" : "=v" (to) : "v" (x))
#define XOR3(to, x, y)                                                  \
  __asm__ volatile ("vpternlogd $0x96, %2, %1, %0"                      \
                    : "+v" (to) : "v" (x), "v" (y))
#define PLUS_K(to, x, t)                                                \
  __asm__ volatile ("vpaddd %2%{1to8%}, %1, %0"                         \
                    : "=v" (to) : "v" (x), "m" (k[t]))
#define SWAP_BYTES(x)                                                   \
  __asm__ volatile ("vpshufb %1, %0, %0" : "+v" (x) : "m" (big_endian))
#define STORE(to, x)                                                    \
  __asm__ volatile ("vmovdqa32 %1, %0" : "=m" (to) : "v" (x))

/* Load 16 bytes of both message blocks of lane N. */
#define PIECE(to, n, at)                                                \
  __asm__ volatile ("vmovdqu32 %1, %x0\n\tvinserti32x4 $1, %2, %0, %0"  \
                    : "=&v" (to)                                        \
                    : "m" (*(const __m128i_u *) (data[n] + (at))),      \
                      "m" (*(const __m128i_u *) (data[n] + 64 + (at))))

/* Store words T and T + 1 of the schedule, which are complete. */
#define PUT(t, wt, wt1)                                                 \
  PLUS_K (x, wt, t);                                                    \
  PLUS_K (y, wt1, (t) + 1);                                             \
  VEC2 ("vpunpckldq", z, x, y);                                         \
  VEC2 ("vpunpckhdq", u, x, y);                                         \
  STORE (to->rounds[(t) / 2][0], z);                                    \
  STORE (to->rounds[(t) / 2][1], u)

/* Load the two message blocks of lane N into four vectors, each with 16 bytes
 * of both blocks.  Meanwhile, run two pairs of rounds of all lanes.
 */
#define LOAD(n, a, b, c, d)                                             \
  EVEN (2 * (n), 0);                                                    \
  EVEN (2 * (n), 1);                                                    \
  _mm_prefetch (data[n] + AHEAD, _MM_HINT_T0);                          \
  PIECE (a, n, 0);                                                      \
  EVEN (2 * (n), 2);                                                    \
  EVEN (2 * (n), 3);                                                    \
  PIECE (b, n, 16);                                                     \
  ODD (2 * (n) + 1, 0);                                                 \
  ODD (2 * (n) + 1, 1);                                                 \
  _mm_prefetch (data[n] + AHEAD + 64, _MM_HINT_T0);                     \
  PIECE (c, n, 32);                                                     \
  ODD (2 * (n) + 1, 2);                                                 \
  ODD (2 * (n) + 1, 3);                                                 \
  PIECE (d, n, 48)

/* Convert four vectors of pieces to words T to T + 3 of all lanes. */
#define TRANSPOSE(t, a, b, c, d)                                        \
  EVEN (8 + (t) / 2, 0);                                                \
  EVEN (8 + (t) / 2, 1);                                                \
  VEC2 ("vpunpckldq", x, a, b);                                         \
  VEC2 ("vpunpckhdq", y, a, b);                                         \
  VEC2 ("vpunpckldq", z, c, d);                                         \
  VEC2 ("vpunpckhdq", u, c, d);                                         \
  VEC2 ("vpunpcklqdq", a, x, z);                                        \
  SWAP_BYTES (a);                                                       \
  EVEN (8 + (t) / 2, 2);                                                \
  EVEN (8 + (t) / 2, 3);                                                \
  VEC2 ("vpunpckhqdq", b, x, z);                                        \
  SWAP_BYTES (b);                                                       \
  VEC2 ("vpunpcklqdq", c, y, u);                                        \
  SWAP_BYTES (c);                                                       \
  VEC2 ("vpunpckhqdq", d, y, u);                                        \
  SWAP_BYTES (d);                                                       \
  ODD (9 + (t) / 2, 0);                                                 \
  ODD (9 + (t) / 2, 1);                                                 \
  PUT (t, a, b);                                                        \
  ODD (9 + (t) / 2, 2);                                                 \
  ODD (9 + (t) / 2, 3);                                                 \
  PUT ((t) + 2, c, d)

/* Compute words T and T + 1 from the preceding 16 words.  At the same time,
 * store words T - 2 and T - 1, which are ready.  XOR3 overwrites a rotated
 * operand: overwriting the shifted one instead is 4 % slower on Zen 4.
 */
#define SCHEDULE(t, w0, w1, w2, w9, w10, w14, w15)                      \
  EVEN (t, 0);                                                          \
  EVEN (t, 1);                                                          \
  PLUS (sum, w0, w9);                                                   \
  SHIFT (x, w14, 10);                                                   \
  SHIFT (y, w1, 3);                                                     \
  EVEN (t, 2);                                                          \
  ROTATE (z, w1, 18);                                                   \
  ROTATE (u, w14, 19);                                                  \
  ROTATE (s1, w14, 17);                                                 \
  XOR3 (s1, u, x);                                                      \
  EVEN (t, 3);                                                          \
  ROTATE (s0, w1, 7);                                                   \
  ODD ((t) + 1, 0);                                                     \
  ODD ((t) + 1, 1);                                                     \
  XOR3 (s0, z, y);                                                      \
  ROTATE (x, w15, 19);                                                  \
  ROTATE (y, w2, 18);                                                   \
  PLUS (sum, sum, s1);                                                  \
  PLUS (w0, sum, s0);                                                   \
  ROTATE (s0, w2, 7);                                                   \
  ROTATE (s1, w15, 17);                                                 \
  ODD ((t) + 1, 2);                                                     \
  ODD ((t) + 1, 3);                                                     \
  SHIFT (z, w15, 10);                                                   \
  PLUS (sum, w1, w10);                                                  \
  XOR3 (s1, x, z);                                                      \
  SHIFT (x, w2, 3);                                                     \
  PLUS (sum, sum, s1);                                                  \
  XOR3 (s0, y, x);                                                      \
  PUT ((t) - 2, w14, w15);                                              \
  PLUS (w1, sum, s0)

#define SIXTEEN(t)                                                      \
  SCHEDULE (t, w0, w1, w2, w9, w10, w14, w15);                          \
  SCHEDULE ((t) + 2, w2, w3, w4, w11, w12, w0, w1);                     \
  SCHEDULE ((t) + 4, w4, w5, w6, w13, w14, w2, w3);                     \
  SCHEDULE ((t) + 6, w6, w7, w8, w15, w0, w4, w5);                      \
  SCHEDULE ((t) + 8, w8, w9, w10, w1, w2, w6, w7);                      \
  SCHEDULE ((t) + 10, w10, w11, w12, w3, w4, w8, w9);                   \
  SCHEDULE ((t) + 12, w12, w13, w14, w5, w6, w10, w11);                 \
  SCHEDULE ((t) + 14, w14, w15, w0, w7, w8, w12, w13)

#define ADD(n)                                                          \
  lane[n].abef = abef##n = _mm_add_epi32 (lane[n].abef, abef##n);       \
  lane[n].cdgh = cdgh##n = _mm_add_epi32 (lane[n].cdgh, cdgh##n)
#define ADD_ALL                                                         \
  do {                                                                  \
    if (rounds) {                                                       \
      ADD (0);                                                          \
      ADD (1);                                                          \
      ADD (2);                                                          \
      ADD (3);                                                          \
    }                                                                   \
  } while (0)

/* All 32 registers are assigned by name.  The instructions for the rounds can
 * use only half of them, and GCC would use that half for the schedule, and
 * spill the state.  A function call clobbers named registers, but only TSan
 * inserts calls here.
 */
#ifdef __SANITIZE_THREAD__
#define IN(name)
#else
#define IN(name) __asm__ (name)
#endif

/* Compute the schedule TO of the two message blocks of each lane at DATA.  If
 * ROUNDS is set, at the same time run the rounds of the previous two message
 * blocks, whose schedule is FROM.
 */
static INLINE void
two_blocks (struct lane *lane, const bool rounds, const struct schedule *from,
            struct schedule *to, const unsigned char *const data[LANES])
{
  const uint32_t *k = sha256_k;
  register __m128i abef0 IN ("xmm1") = lane[0].abef;
  register __m128i cdgh0 IN ("xmm2") = lane[0].cdgh;
  register __m128i abef1 IN ("xmm3") = lane[1].abef;
  register __m128i cdgh1 IN ("xmm4") = lane[1].cdgh;
  register __m128i abef2 IN ("xmm5") = lane[2].abef;
  register __m128i cdgh2 IN ("xmm6") = lane[2].cdgh;
  register __m128i abef3 IN ("xmm7") = lane[3].abef;
  register __m128i cdgh3 IN ("xmm8") = lane[3].cdgh;
  register vec sum IN ("ymm9"), s0 IN ("ymm10"), s1 IN ("ymm11");
  register vec x IN ("ymm12"), y IN ("ymm13"), z IN ("ymm14"), u IN ("ymm15");
  register vec w0 IN ("ymm16"), w1 IN ("ymm17"), w2 IN ("ymm18");
  register vec w3 IN ("ymm19"), w4 IN ("ymm20"), w5 IN ("ymm21");
  register vec w6 IN ("ymm22"), w7 IN ("ymm23"), w8 IN ("ymm24");
  register vec w9 IN ("ymm25"), w10 IN ("ymm26"), w11 IN ("ymm27");
  register vec w12 IN ("ymm28"), w13 IN ("ymm29"), w14 IN ("ymm30");
  register vec w15 IN ("ymm31");

  /* Keep these pointers in registers, which is faster than the addressing that
   * GCC would generate.
   */
  __asm__ ("" : "+r" (from), "+r" (to), "+r" (k));
  LOAD (0, w0, w4, w8, w12);
  LOAD (1, w1, w5, w9, w13);
  LOAD (2, w2, w6, w10, w14);
  LOAD (3, w3, w7, w11, w15);
  TRANSPOSE (0, w0, w1, w2, w3);
  TRANSPOSE (4, w4, w5, w6, w7);
  TRANSPOSE (8, w8, w9, w10, w11);
  TRANSPOSE (12, w12, w13, w14, w15); /* words 14 and 15 will be stored again */
  SIXTEEN (16);
  ADD_ALL;
  SIXTEEN (32);
  SIXTEEN (48);
  PUT (62, w14, w15);
  ADD_ALL;
}

static INLINE void
load (struct lane lane[LANES], const uint32_t *state)
{
#define S(word) state[(word) * LANES + n]
  for (size_t n = 0; n < LANES; n++) {
    lane[n].abef = _mm_set_epi32 (S (0), S (1), S (4), S (5));
    lane[n].cdgh = _mm_set_epi32 (S (2), S (3), S (6), S (7));
  }
}

static INLINE void
store (uint32_t *state, const struct lane lane[LANES])
{
  for (size_t n = 0; n < LANES; n++) {
    S (0) = _mm_extract_epi32 (lane[n].abef, 3);
    S (1) = _mm_extract_epi32 (lane[n].abef, 2);
    S (4) = _mm_extract_epi32 (lane[n].abef, 1);
    S (5) = _mm_extract_epi32 (lane[n].abef, 0);
    S (2) = _mm_extract_epi32 (lane[n].cdgh, 3);
    S (3) = _mm_extract_epi32 (lane[n].cdgh, 2);
    S (6) = _mm_extract_epi32 (lane[n].cdgh, 1);
    S (7) = _mm_extract_epi32 (lane[n].cdgh, 0);
  }
#undef S
}

/* Compress PAIRS pairs of message blocks, at least one, for each of COUNT
 * states.  While the last pair of a state is compressed, the schedule of the
 * first pair of the next state is computed.
 */
static TARGET void
hash (uint32_t *state, const unsigned char *const *data, size_t pairs,
      size_t count)
{
  const unsigned char *from[LANES] = { data[0], data[1], data[2], data[3] };
  struct schedule schedule[2];
  struct lane lane[LANES];
  size_t i, n, pair = 0;

  load (lane, state);
  two_blocks (lane, false, NULL, &schedule[0], from);
  for (i = 0; i < pairs * count; i++) {
    pair++;
    if (pair < pairs)
      for (n = 0; n < LANES; n++)
        from[n] += 128;
    else if (i + 1 < pairs * count) { /* otherwise the last pair is loaded
                                       * again, but not used */
      data += LANES;
      for (n = 0; n < LANES; n++)
        from[n] = data[n];
    }
    two_blocks (lane, true, &schedule[i % 2], &schedule[(i + 1) % 2], from);
    if (pair < pairs)
      continue;
    store (state, lane);
    state += STATE_WORDS;
    pair = 0;
    if (i + 1 < pairs * count)
      load (lane, state);
  }
}

static void
compress_many (void *to, const unsigned char *const *data, size_t blocks,
               size_t count)
{
  const unsigned char *last[LANES];
  uint32_t *state = to;
  size_t i, n;

  if (blocks > 1)
    hash (state, data, blocks / 2, count);
  for (i = 0; i < count && blocks % 2; i++) {
    for (n = 0; n < LANES; n++)
      last[n] = data[i * LANES + n] + (blocks - 1) * 64;
    sha256_shani_x4.compress (state + i * STATE_WORDS, last, 1);
  }
}

static void
compress (void *to, const unsigned char *const *data, size_t blocks)
{
  compress_many (to, data, blocks, 1);
}

const struct lane_kernel sha256_avx512sha_x4 = {
  .name = "avx512sha-x4",
  .lanes = LANES,
  .cpu = CPU_AVX512 | CPU_SHANI | CPU_AMD,
  .cost = 127,
  .compress = compress,
  .compress_many = compress_many,
};

#endif /* __x86_64__ */
