/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Vectors of 256 bits with AVX2: see vector-256.h.
 */

#ifndef BLKHASH_VECTOR_AVX2_H
#define BLKHASH_VECTOR_AVX2_H

#define TARGET __attribute__ ((target ("avx2")))
#define INLINE inline __attribute__ ((always_inline)) TARGET

#include "lanes/vector-256.h"

#define rotate(x, n) \
  _mm256_or_si256 (shift (x, n), \
                   _mm256_slli_epi64 (x, 64 - (n)))

/* Rotate right by N bytes with one instruction instead of three. */
static INLINE vec
rotate_bytes (vec x, const unsigned n)
{
  const uint64_t bytes = 0x0706050403020100;
  const uint64_t order = bytes >> 8 * n | bytes << (64 - 8 * n);

  return shuffle_bytes (x, _mm_set_epi64x (order + 0x0808080808080808, order));
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

/* In SHA-512, B ^ C was already computed, as the A ^ B of the previous round.
 */
static INLINE vec
majority (vec a, vec b, vec c)
{
  return xor (b, _mm256_and_si256 (xor (a, b), xor (b, c)));
}

#endif /* BLKHASH_VECTOR_AVX2_H */
