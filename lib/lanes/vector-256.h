/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Vectors of 256 bits, for kernels (multi-buffer implementations of a hash) in
 * which each element of a vector belongs to one lane.  This file loads message
 * blocks of 16 words of 64 bits into vectors.  It is included by vector-avx2.h
 * and vector-avx512vl.h, which define the other operations; a kernel includes
 * one of those two.
 */

#ifndef BLKHASH_VECTOR_256_H
#define BLKHASH_VECTOR_256_H

#define LANES 4

typedef __m256i vec;

#define set1 _mm256_set1_epi64x
#define shift _mm256_srli_epi64
#define xor _mm256_xor_si256

static INLINE vec
load_state (const void *p)
{
  return _mm256_load_si256 (p);
}

static INLINE void
store_state (void *p, vec x)
{
  _mm256_store_si256 (p, x);
}

/* Hide from GCC that this is a sum.  Otherwise GCC reorders the additions, and
 * the operand that is ready last is not added last.
 */
static INLINE vec
add (vec a, vec b)
{
  vec sum = _mm256_add_epi64 (a, b);

  __asm__ ("" : "+x" (sum));
  return sum;
}

/* Shuffle the bytes within each half of X; both halves have the same ORDER. */
static INLINE vec
shuffle_bytes (vec x, __m128i order)
{
  return _mm256_shuffle_epi8 (x, _mm256_broadcastsi128_si256 (order));
}

/* Reverse the bytes of each word. */
static INLINE vec
swap_bytes (vec x)
{
  return shuffle_bytes (x, _mm_set_epi8 (8, 9, 10, 11, 12, 13, 14, 15,
                                         0, 1, 2, 3, 4, 5, 6, 7));
}

/* A vector has two pieces, each of 128 bits, which are two words.  The first
 * pieces of the two vectors of X are a square matrix of words, and so are the
 * second pieces.  Transpose both matrices.
 */
static INLINE void
transpose_words (vec x[2])
{
  vec a = x[0], b = x[1];

  x[0] = _mm256_unpacklo_epi64 (a, b);
  x[1] = _mm256_unpackhi_epi64 (a, b);
}

/* Transpose the 2 x 2 pieces of the vectors x[0] and x[2]. */
static INLINE void
transpose_pieces (vec *x)
{
  vec a = x[0], b = x[2];

  x[0] = _mm256_permute2x128_si256 (a, b, 0x20);
  x[2] = _mm256_permute2x128_si256 (a, b, 0x31);
}

/* Load word I of the message blocks at OFFSET of all lanes into W[I], in the
 * byte order of the message.  Whole cache lines are loaded, one lane after the
 * other, because a line may be evicted soon: the lines of all lanes may be in
 * one set of the cache, which has few ways.
 */
static INLINE void
load_words (vec w[16], const unsigned char *const *data, size_t offset)
{
#pragma GCC unroll 8
  for (unsigned i = 0; i < LANES; i++)
#pragma GCC unroll 4
    for (unsigned j = 0; j < 16; j += LANES)
      w[j + i] = _mm256_loadu_si256 ((const __m256i *) (data[i] + offset +
                                                        j * 8));
#pragma GCC unroll 8
  for (unsigned i = 0; i < 16; i += 2)
    transpose_words (w + i);
#pragma GCC unroll 4
  for (unsigned j = 0; j < 16; j += LANES)
#pragma GCC unroll 4
    for (unsigned i = 0; i < 2; i++)
      transpose_pieces (w + j + i);
}

#endif /* BLKHASH_VECTOR_256_H */
