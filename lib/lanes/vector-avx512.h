/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Vectors of 512 bits, for kernels (multi-buffer implementations of a hash) in
 * which each element of a vector belongs to one lane.  This file defines the
 * operations, and loads message blocks of 16 words into vectors.  It is a
 * template: the including file first defines WORD, the number of bits of a
 * word: 32 or 64.
 */

#ifndef BLKHASH_VECTOR_AVX512_H
#define BLKHASH_VECTOR_AVX512_H

#define TARGET __attribute__ ((target ("avx512f,avx512bw")))
#define INLINE inline __attribute__ ((always_inline)) TARGET
#define LANES (512 / WORD)

typedef __m512i vec;

#define JOIN_AGAIN(name, bits) name ## bits
#define JOIN(name, bits) JOIN_AGAIN (name, bits)
#define set1 JOIN (_mm512_set1_epi, WORD)
#define shift JOIN (_mm512_srli_epi, WORD)
#define rotate JOIN (_mm512_ror_epi, WORD)
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
  vec sum = JOIN (_mm512_add_epi, WORD) (a, b);

  __asm__ ("" : "+v" (sum));
  return sum;
}

/* Reverse the bytes of each word. */
static INLINE vec
swap_bytes (vec x)
{
#if WORD == 32
  const __m128i order = _mm_set_epi8 (12, 13, 14, 15, 8, 9, 10, 11,
                                      4, 5, 6, 7, 0, 1, 2, 3);
#else
  const __m128i order = _mm_set_epi8 (8, 9, 10, 11, 12, 13, 14, 15,
                                      0, 1, 2, 3, 4, 5, 6, 7);
#endif

  return _mm512_shuffle_epi8 (x, _mm512_broadcast_i32x4 (order));
}

/* A vector has four pieces, each of 128 bits, which are PIECE words.  The
 * pieces at the same place in the PIECE vectors of X are a square matrix of
 * words.  Transpose each of these matrices.
 */
#define PIECE (128 / WORD)

static INLINE void
transpose_words (vec x[PIECE])
{
#if WORD == 32
  vec ab01 = _mm512_unpacklo_epi32 (x[0], x[1]);
  vec ab23 = _mm512_unpackhi_epi32 (x[0], x[1]);
  vec cd01 = _mm512_unpacklo_epi32 (x[2], x[3]);
  vec cd23 = _mm512_unpackhi_epi32 (x[2], x[3]);

  x[0] = _mm512_unpacklo_epi64 (ab01, cd01);
  x[1] = _mm512_unpackhi_epi64 (ab01, cd01);
  x[2] = _mm512_unpacklo_epi64 (ab23, cd23);
  x[3] = _mm512_unpackhi_epi64 (ab23, cd23);
#else
  vec a = x[0], b = x[1];

  x[0] = _mm512_unpacklo_epi64 (a, b);
  x[1] = _mm512_unpackhi_epi64 (a, b);
#endif
}

/* Transpose four rows of four pieces of 128 bits.  The rows are STEP apart. */
static INLINE void
transpose_pieces (vec *x, size_t step)
{
  vec ab02 = _mm512_shuffle_i32x4 (x[0], x[step], 0x88);
  vec ab13 = _mm512_shuffle_i32x4 (x[0], x[step], 0xdd);
  vec cd02 = _mm512_shuffle_i32x4 (x[2 * step], x[3 * step], 0x88);
  vec cd13 = _mm512_shuffle_i32x4 (x[2 * step], x[3 * step], 0xdd);

  x[0] = _mm512_shuffle_i32x4 (ab02, cd02, 0x88);
  x[step] = _mm512_shuffle_i32x4 (ab13, cd13, 0x88);
  x[2 * step] = _mm512_shuffle_i32x4 (ab02, cd02, 0xdd);
  x[3 * step] = _mm512_shuffle_i32x4 (ab13, cd13, 0xdd);
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
      w[j + i] = _mm512_loadu_si512 (data[i] + offset + j * WORD / 8);
#pragma GCC unroll 8
  for (unsigned i = 0; i < 16; i += PIECE)
    transpose_words (w + i);
#pragma GCC unroll 2
  for (unsigned j = 0; j < 16; j += LANES)
#pragma GCC unroll 4
    for (unsigned i = 0; i < PIECE; i++)
      transpose_pieces (w + j + i, PIECE);
}

/* The same for big-endian words. */
static INLINE void
load_swapped_words (vec w[16], const unsigned char *const *data, size_t offset)
{
  load_words (w, data, offset);
#pragma GCC unroll 16
  for (unsigned i = 0; i < 16; i++)
    w[i] = swap_bytes (w[i]);
}

#endif /* BLKHASH_VECTOR_AVX512_H */
