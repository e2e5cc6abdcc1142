/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * BLAKE2b of many messages in vectors of 64-bit words.  Each element of a
 * vector belongs to one lane.  This file is a template for vectors of any
 * width: it must be included after a vector-*.h, which defines the vectors.
 */

#ifndef BLKHASH_BLAKE2B_VECTOR_H
#define BLKHASH_BLAKE2B_VECTOR_H

/* The order of the message words in each round.  Rounds 10 and 11 use the order
 * of rounds 0 and 1.
 */
static const unsigned char schedule[10][16] = {
  { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
  { 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
  { 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
  { 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
  { 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
  { 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
  { 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
  { 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
  { 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
  { 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
};

/* Half of the function G of RFC 7693.  M is the message word, ROTATE1 and
 * ROTATE2 are the rotations.
 */
#define HALF(a, b, c, d, m, rotate1, rotate2) \
  do { \
    a = add (add (a, m), b); \
    d = rotate1 (xor (d, a)); \
    c = add (c, d); \
    b = rotate2 (xor (b, c)); \
  } while (0)

#define rotate32(x) rotate_bytes (x, 4)
#define rotate24(x) rotate_bytes (x, 3)
#define rotate16(x) rotate_bytes (x, 2)
#define rotate63(x) rotate (x, 63)

/* V is a matrix of four rows, from which A, B, C and D are taken.  Mix its four
 * columns; or, if SHIFTED is 1, its four diagonals, in which B, C and D are 1,
 * 2 and 3 columns after A.
 */
static INLINE void
four_mixes (vec v[16], const vec m[16], const unsigned char *order,
            const unsigned shifted)
{
#pragma GCC unroll 2
  for (unsigned half = 0; half < 2; half++)
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) {
      vec *a = &v[i], *b = &v[4 + (i + shifted) % 4];
      vec *c = &v[8 + (i + 2 * shifted) % 4];
      vec *d = &v[12 + (i + 3 * shifted) % 4];
      vec word = m[order[2 * i + half]];

      if (half == 0)
        HALF (*a, *b, *c, *d, word, rotate32, rotate24);
      else
        HALF (*a, *b, *c, *d, word, rotate16, rotate63);
    }
}

static INLINE void
compress_lanes (uint64_t *state, const unsigned char *const *data,
                size_t blocks)
{
  vec v[16], m[16], count;

  for (size_t offset = 0; offset < blocks * 128; offset += 128) {
    load_words (m, data, offset);
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++) {
      v[i] = load_state (state + i * LANES);
      v[8 + i] = set1 (blake2b_iv[i]);
    }
    count = add (load_state (state + 8 * LANES), set1 (128));
    store_state (state + 8 * LANES, count);
    v[12] = xor (v[12], count);
    v[14] = xor (v[14], load_state (state + 9 * LANES));
#pragma GCC unroll 12
    for (unsigned round = 0; round < 12; round++) {
      four_mixes (v, m, schedule[round % 10], 0);
      four_mixes (v, m, schedule[round % 10] + 8, 1);
    }
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++)
      store_state (state + i * LANES,
                   xor3 (v[i], v[8 + i], load_state (state + i * LANES)));
  }
}

#endif /* BLKHASH_BLAKE2B_VECTOR_H */
