/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Vectors of 256 bits with AVX-512 instructions, which include rotations and
 * logic operations on three operands: see vector-256.h.
 */

#ifndef BLKHASH_VECTOR_AVX512VL_H
#define BLKHASH_VECTOR_AVX512VL_H

#define TARGET __attribute__ ((target ("avx512f,avx512bw,avx512vl")))
#define INLINE inline __attribute__ ((always_inline)) TARGET

#include "lanes/vector-256.h"

#define rotate _mm256_ror_epi64
#define rotate_bytes(x, n) rotate (x, 8 * (n))

/* The last operand is the truth table. */
#define xor3(a, b, c) _mm256_ternarylogic_epi32 (a, b, c, 0x96)
#define choose(e, f, g) _mm256_ternarylogic_epi32 (e, f, g, 0xca)
#define majority(a, b, c) _mm256_ternarylogic_epi32 (a, b, c, 0xe8)

#endif /* BLKHASH_VECTOR_AVX512VL_H */
