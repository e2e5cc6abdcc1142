/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 of many messages in vectors of 32 bit words, one lane an element:
 * what is the same for vectors of any width.  Who includes this defines before
 * vec (the type), LANES, INLINE (with the instruction set) and the operations.
 */

#ifndef BLKHASH_SHA256_VECTOR_H
#define BLKHASH_SHA256_VECTOR_H

#define big_sigma0(x) xor3 (rotate (x, 2), rotate (x, 13), rotate (x, 22))
#define big_sigma1(x) xor3 (rotate (x, 6), rotate (x, 11), rotate (x, 25))
#define sigma0(x) xor3 (rotate (x, 7), rotate (x, 18), shift (x, 3))
#define sigma1(x) xor3 (rotate (x, 17), rotate (x, 19), shift (x, 10))

/* Four vectors, each with pieces of four words of some lanes, become four
 * words of all lanes.
 */
static INLINE void
transpose (vec w[4])
{
  vec ab01 = unpack_lo32 (w[0], w[1]), ab23 = unpack_hi32 (w[0], w[1]);
  vec cd01 = unpack_lo32 (w[2], w[3]), cd23 = unpack_hi32 (w[2], w[3]);

  w[0] = swap_bytes (unpack_lo64 (ab01, cd01));
  w[1] = swap_bytes (unpack_hi64 (ab01, cd01));
  w[2] = swap_bytes (unpack_lo64 (ab23, cd23));
  w[3] = swap_bytes (unpack_hi64 (ab23, cd23));
}

static INLINE void
load_words (vec w[16], const unsigned char *const *data, size_t offset)
{
  /* All of a lane at once: there can be more lanes than the cache has ways. */
#pragma GCC unroll 4
  for (unsigned i = 0; i < 4; i++)
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++)
      w[j * 4 + i] = load_pieces (data + i, offset + j * 16);
#pragma GCC unroll 4
  for (unsigned i = 0; i < 16; i += 4)
    transpose (w + i);
}

/* W has the last 16 words of the schedule. */
static INLINE void
next_word (vec w[16], unsigned i)
{
  w[i] = add (add (w[i], w[(i + 9) % 16]),
              add (sigma0 (w[(i + 1) % 16]), sigma1 (w[(i + 14) % 16])));
}

/* Not the words move from a to b and so on, but their names. */
static INLINE void
one_round (vec s[8], vec w, uint32_t k, unsigned i)
{
  vec a = s[(8 - i) % 8], b = s[(9 - i) % 8], c = s[(10 - i) % 8];
  vec e = s[(12 - i) % 8], f = s[(13 - i) % 8], g = s[(14 - i) % 8];
  vec *d = &s[(11 - i) % 8], *h = &s[(15 - i) % 8];

  *h = add (add (add (*h, add (w, every (k))), choose (e, f, g)),
            big_sigma1 (e));
  *d = add (*d, *h);
  *h = add (*h, add (majority (a, b, c), big_sigma0 (a)));
}

static INLINE void
sixteen_rounds (vec s[8], vec w[16], const uint32_t *k, const bool more)
{
#pragma GCC unroll 16
  for (unsigned i = 0; i < 16; i++) {
    one_round (s, w[i], k[i], i);
    if (more)
      next_word (w, i);
  }
}

static INLINE void
compress_lanes (uint32_t *state, const unsigned char *const *data,
                size_t blocks)
{
  vec s[8], w[16];

  for (size_t offset = 0; offset < blocks * 64; offset += 64) {
    load_words (w, data, offset);
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++)
      s[i] = load_state (state + i * LANES);
#pragma GCC unroll 1
    for (unsigned t = 0; t < 48; t += 16)
      sixteen_rounds (s, w, sha256_k + t, true);
    sixteen_rounds (s, w, sha256_k + 48, false);
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++)
      store_state (state + i * LANES,
                   add (s[i], load_state (state + i * LANES)));
  }
}

#endif /* BLKHASH_SHA256_VECTOR_H */
