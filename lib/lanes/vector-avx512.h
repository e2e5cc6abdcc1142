/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Vectors of 512 bits, for kernels (multi-buffer implementations of a hash) in
 * which each element of a vector belongs to one lane.  This file defines the
 * operations, and loads message blocks of 16 words of 64 bits into vectors.
 */

#ifndef BLKHASH_VECTOR_AVX512_H
#define BLKHASH_VECTOR_AVX512_H

#define TARGET __attribute__ ((target ("avx512f,avx512bw")))
#define INLINE inline __attribute__ ((always_inline)) TARGET
#define LANES 8

typedef __m512i vec;

#define set1 _mm512_set1_epi64
#define shift _mm512_srli_epi64
#define rotate _mm512_ror_epi64
#define rotate_bytes(x, n) rotate (x, 8 * (n))
#define xor _mm512_xor_si512

/* The last operand is the truth table. */
#define xor3(a, b, c) _mm512_ternarylogic_epi32 (a, b, c, 0x96)
#define choose(e, f, g) _mm512_ternarylogic_epi32 (e, f, g, 0xca)
#define majority(a, b, c) _mm512_ternarylogic_epi32 (a, b, c, 0xe8)

#define load_state(p) _mm512_load_si512 (p)
#define store_state(p, x) _mm512_store_si512 (p, x)

/* Hide from GCC that this is a sum.  Otherwise GCC reorders the additions, and
 * the operand that is ready last is not added last.
 */
static INLINE vec
add (vec a, vec b)
{
  vec sum = _mm512_add_epi64 (a, b);

  __asm__ ("" : "+v" (sum));
  return sum;
}

/* Reverse the bytes of each word. */
static INLINE vec
swap_bytes (vec x)
{
  const __m128i order = _mm_set_epi8 (8, 9, 10, 11, 12, 13, 14, 15,
                                      0, 1, 2, 3, 4, 5, 6, 7);

  return _mm512_shuffle_epi8 (x, _mm512_broadcast_i32x4 (order));
}

/* A vector has four pieces, each of 128 bits, which are two words.  The pieces
 * at the same place in the two vectors of X are a square matrix of words.
 * Transpose each of these matrices.
 */
static INLINE void
transpose_words (vec x[2])
{
  vec a = x[0], b = x[1];

  x[0] = _mm512_unpacklo_epi64 (a, b);
  x[1] = _mm512_unpackhi_epi64 (a, b);
}

/* Transpose the 4 x 4 pieces of the vectors x[0], x[2], x[4] and x[6]. */
static INLINE void
transpose_pieces (vec *x)
{
  vec ab02 = _mm512_shuffle_i32x4 (x[0], x[2], 0x88);
  vec ab13 = _mm512_shuffle_i32x4 (x[0], x[2], 0xdd);
  vec cd02 = _mm512_shuffle_i32x4 (x[4], x[6], 0x88);
  vec cd13 = _mm512_shuffle_i32x4 (x[4], x[6], 0xdd);

  x[0] = _mm512_shuffle_i32x4 (ab02, cd02, 0x88);
  x[2] = _mm512_shuffle_i32x4 (ab13, cd13, 0x88);
  x[4] = _mm512_shuffle_i32x4 (ab02, cd02, 0xdd);
  x[6] = _mm512_shuffle_i32x4 (ab13, cd13, 0xdd);
}

/* Load the message block at OFFSET of each lane, without changing the byte
 * order of its words.  Whole cache lines are loaded, one lane after the other:
 * there can be more lanes than the cache has ways, so a line may be evicted
 * soon.
 */
static INLINE void
load_words (vec w[16], const unsigned char *const *data, size_t offset)
{
#pragma GCC unroll 16
  for (unsigned i = 0; i < LANES; i++)
#pragma GCC unroll 2
    for (unsigned j = 0; j < 16; j += LANES)
      w[j + i] = _mm512_loadu_si512 (data[i] + offset + j * 8);
#pragma GCC unroll 8
  for (unsigned i = 0; i < 16; i += 2)
    transpose_words (w + i);
#pragma GCC unroll 2
  for (unsigned j = 0; j < 16; j += LANES)
#pragma GCC unroll 4
    for (unsigned i = 0; i < 2; i++)
      transpose_pieces (w + j + i);
}

#endif /* BLKHASH_VECTOR_AVX512_H */
