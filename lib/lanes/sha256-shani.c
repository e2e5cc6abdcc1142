/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 with the SHA instructions of x86.  Two to four messages are
 * interleaved, because the speed of a single message is limited by the latency
 * of these instructions.
 */

#include <config.h>

#ifdef __x86_64__

#include <immintrin.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"

#define TARGET __attribute__ ((target ("sha,sse4.1")))
#define INLINE inline __attribute__ ((always_inline)) TARGET
#define MAX_LANES 4

/* The state in the order that the instructions need.  The first letter is the
 * most significant word.
 */
struct lane {
  __m128i abef, cdgh;
  __m128i w[4];                 /* the last 16 words of the schedule */
};

static INLINE __m128i
load_words (const unsigned char *p)
{
  const __m128i swap = _mm_set_epi8 (12, 13, 14, 15, 8, 9, 10, 11,
                                     4, 5, 6, 7, 0, 1, 2, 3);

  return _mm_shuffle_epi8 (_mm_loadu_si128 ((const __m128i *) p), swap);
}

/* Run rounds 4 I to 4 I + 3 with the words in W[I % 4], and then replace these
 * words with those of 16 rounds later.  The caller loads the first 16 words
 * before round 0.
 */
static INLINE void
four_rounds (struct lane *lane, unsigned i)
{
  __m128i *w = lane->w;
  __m128i wk, sum;

  wk = _mm_add_epi32 (w[i % 4],
                      _mm_load_si128 ((const __m128i *) sha256_k + i));
  lane->cdgh = _mm_sha256rnds2_epu32 (lane->cdgh, lane->abef, wk);
  wk = _mm_shuffle_epi32 (wk, 0x0e);
  lane->abef = _mm_sha256rnds2_epu32 (lane->abef, lane->cdgh, wk);
  if (i < 12) {
    sum = _mm_add_epi32 (_mm_sha256msg1_epu32 (w[i % 4], w[(i + 1) % 4]),
                         _mm_alignr_epi8 (w[(i + 3) % 4], w[(i + 2) % 4], 4));
    w[i % 4] = _mm_sha256msg2_epu32 (sum, w[(i + 3) % 4]);
  }
}

static INLINE void
one_block (struct lane *lane, const unsigned lanes,
           const unsigned char *const *data, size_t offset)
{
  __m128i abef[MAX_LANES], cdgh[MAX_LANES];
  unsigned i, n;

#pragma GCC unroll 4
  for (n = 0; n < lanes; n++) {
    abef[n] = lane[n].abef;
    cdgh[n] = lane[n].cdgh;
#pragma GCC unroll 4
    for (i = 0; i < 4; i++)
      lane[n].w[i] = load_words (data[n] + offset + i * 16);
  }
#pragma GCC unroll 16
  for (i = 0; i < 16; i++)
#pragma GCC unroll 4
    for (n = 0; n < lanes; n++)
      four_rounds (&lane[n], i);
#pragma GCC unroll 4
  for (n = 0; n < lanes; n++) {
    lane[n].abef = _mm_add_epi32 (lane[n].abef, abef[n]);
    lane[n].cdgh = _mm_add_epi32 (lane[n].cdgh, cdgh[n]);
  }
}

static INLINE void
compress (uint32_t *state, const unsigned char *const *data, size_t blocks,
          const unsigned lanes)
{
  struct lane lane[MAX_LANES];
  size_t offset;
  unsigned n;

#define S(word) state[(word) * lanes + n]
#pragma GCC unroll 4
  for (n = 0; n < lanes; n++) {
    lane[n].abef = _mm_set_epi32 (S (0), S (1), S (4), S (5));
    lane[n].cdgh = _mm_set_epi32 (S (2), S (3), S (6), S (7));
  }
  for (offset = 0; offset < blocks * 64; offset += 64)
    one_block (lane, lanes, data, offset);
#pragma GCC unroll 4
  for (n = 0; n < lanes; n++) {
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

#define KERNEL(LANES, COST)                                             \
  static TARGET void                                                    \
  compress_x##LANES (void *state, const unsigned char *const *data,     \
                     size_t blocks)                                     \
  {                                                                     \
    compress (state, data, blocks, LANES);                              \
  }                                                                     \
                                                                        \
  const struct lane_kernel sha256_shani_x##LANES = {                    \
    .name = "shani-x" #LANES,                                           \
    .lanes = LANES,                                                     \
    .cpu = CPU_SHANI,                                                   \
    .cost = COST,                                                       \
    .compress = compress_x##LANES,                                      \
  }

KERNEL (2, 146);
KERNEL (3, 219);
KERNEL (4, 292);

#endif /* __x86_64__ */
