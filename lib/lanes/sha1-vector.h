/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-1 of many messages in vectors of 32-bit words.  Each element of a vector
 * belongs to one lane.  This file is a template for vectors of any width: it
 * must be included after a vector-*.h, which defines the vectors.
 */

#ifndef BLKHASH_SHA1_VECTOR_H
#define BLKHASH_SHA1_VECTOR_H

/* Replace word I of the ring buffer W, which has the last 16 words of the
 * schedule, with the word of 16 rounds later.
 */
static INLINE void
next_word (vec w[16], unsigned i)
{
  vec x = xor3 (w[i], w[(i + 2) % 16], w[(i + 8) % 16]);

  w[i] = rotate (xor (x, w[(i + 13) % 16]), 31);
}

static INLINE vec
function (vec b, vec c, vec d, const unsigned t)
{
  if (t < 20)
    return choose (b, c, d);
  if (t >= 40 && t < 60)
    return majority (b, c, d);
  return xor3 (b, c, d);
}

/* The words of the state are not moved from a to b and so on.  Instead, their
 * names rotate with each round.
 */
static INLINE void
one_round (vec s[5], vec w, const unsigned t)
{
  const unsigned i = t % 5;
  vec a = s[(5 - i) % 5], c = s[(7 - i) % 5], d = s[(8 - i) % 5];
  vec *b = &s[(6 - i) % 5], *e = &s[(9 - i) % 5];

  *e = add (add (add (*e, add (w, set1 (sha1_k[t / 20]))),
                 function (*b, c, d, t)), rotate (a, 27));
  *b = rotate (*b, 2);
}

static INLINE void
compress_lanes (uint32_t *state, const unsigned char *const *data,
                size_t blocks)
{
  vec s[5], w[16];

  for (size_t offset = 0; offset < blocks * 64; offset += 64) {
    load_swapped_words (w, data, offset);
#pragma GCC unroll 5
    for (unsigned i = 0; i < 5; i++)
      s[i] = load_state (state + i * LANES);
#pragma GCC unroll 80
    for (unsigned t = 0; t < 80; t++) {
      one_round (s, w[t % 16], t);
      if (t < 64)
        next_word (w, t % 16);
    }
#pragma GCC unroll 5
    for (unsigned i = 0; i < 5; i++)
      store_state (state + i * LANES,
                   add (s[i], load_state (state + i * LANES)));
  }
}

#endif /* BLKHASH_SHA1_VECTOR_H */
