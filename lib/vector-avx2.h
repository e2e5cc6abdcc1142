/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Vectors of 256 bits with AVX2: see vector-256.h.
 */

#ifndef BLKHASH_VECTOR_AVX2_H
#define BLKHASH_VECTOR_AVX2_H

#define TARGET __attribute__ ((target ("avx2")))
#define INLINE inline __attribute__ ((always_inline)) TARGET

#include "vector-256.h"

#define rotate(x, n) \
  _mm256_or_si256 (shift (x, n), \
                   JOIN (_mm256_slli_epi, WORD) (x, WORD - (n)))

/* To the right, by 8: one instruction instead of three. */
static INLINE vec
rotate_byte (vec x)
{
#if WORD == 32
  return shuffle_bytes (x, _mm_set_epi8 (12, 15, 14, 13, 8, 11, 10, 9,
                                         4, 7, 6, 5, 0, 3, 2, 1));
#else
  return shuffle_bytes (x, _mm_set_epi8 (8, 15, 14, 13, 12, 11, 10, 9,
                                         0, 7, 6, 5, 4, 3, 2, 1));
#endif
}

static INLINE vec
xor3 (vec a, vec b, vec c)
{
  return xor (a, xor (b, c));
}

static INLINE vec
choose (vec e, vec f, vec g)
{
  return xor (g, _mm256_and_si256 (e, xor (f, g)));
}

/* B ^ C was A ^ B in the round before. */
static INLINE vec
majority (vec a, vec b, vec c)
{
  return xor (b, _mm256_and_si256 (xor (a, b), xor (b, c)));
}

#endif /* BLKHASH_VECTOR_AVX2_H */
