/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-512 of many messages in vectors of 64-bit words.  Each element of a
 * vector belongs to one lane.  This file is a template for vectors of any
 * width: it must be included after a vector-*.h, which defines the vectors.
 *
 * On CPUs where an operation has a latency of more than one cycle, one group of
 * lanes cannot keep the vector units busy, but two groups at a time can.
 */

#ifndef BLKHASH_SHA512_VECTOR_H
#define BLKHASH_SHA512_VECTOR_H

#define MAX_GROUPS 2

/* The words a to h of the state of one group, and the last 16 words of its
 * schedule.
 */
struct group {
  vec s[8], w[16];
};

#define big_sigma0(x) xor3 (rotate (x, 28), rotate (x, 34), rotate (x, 39))
#define big_sigma1(x) xor3 (rotate (x, 14), rotate (x, 18), rotate (x, 41))
#define sigma0(x) xor3 (rotate (x, 1), rotate_bytes (x, 1), shift (x, 7))
#define sigma1(x) xor3 (rotate (x, 19), rotate (x, 61), shift (x, 6))

/* The same as load_words, for big-endian words. */
static INLINE void
load_swapped_words (vec w[16], const unsigned char *const *data, size_t offset)
{
  load_words (w, data, offset);
#pragma GCC unroll 16
  for (unsigned i = 0; i < 16; i++)
    w[i] = swap_bytes (w[i]);
}

static INLINE void
next_word (vec w[16], unsigned i)
{
  w[i] = add (add (w[i], w[(i + 9) % 16]),
              add (sigma0 (w[(i + 1) % 16]), sigma1 (w[(i + 14) % 16])));
}

/* The words of the state are not moved from a to b and so on.  Instead, their
 * names rotate with each round.
 */
static INLINE void
one_round (vec s[8], vec w, uint64_t k, unsigned i)
{
  vec a = s[(8 - i) % 8], b = s[(9 - i) % 8], c = s[(10 - i) % 8];
  vec e = s[(12 - i) % 8], f = s[(13 - i) % 8], g = s[(14 - i) % 8];
  vec *d = &s[(11 - i) % 8], *h = &s[(15 - i) % 8];

  *h = add (add (add (*h, add (w, set1 (k))), choose (e, f, g)),
            big_sigma1 (e));
  *d = add (*d, *h);
  *h = add (*h, add (majority (a, b, c), big_sigma0 (a)));
}

static INLINE void
sixteen_rounds (struct group *group, const unsigned groups, const uint64_t *k,
                const bool more)
{
#pragma GCC unroll 16
  for (unsigned i = 0; i < 16; i++)
#pragma GCC unroll 2
    for (unsigned g = 0; g < groups; g++) {
      one_round (group[g].s, group[g].w[i], k[i], i);
      if (more)
        next_word (group[g].w, i);
    }
}

/* Compress message blocks of GROUPS groups, each of LANES lanes. */
static INLINE void
compress_groups (uint64_t *state, const unsigned char *const *data,
                 size_t blocks, const unsigned groups)
{
  struct group group[MAX_GROUPS];

  for (size_t offset = 0; offset < blocks * 128; offset += 128) {
#pragma GCC unroll 2
    for (unsigned g = 0; g < groups; g++) {
      load_swapped_words (group[g].w, data + g * LANES, offset);
#pragma GCC unroll 8
      for (unsigned i = 0; i < 8; i++)
        group[g].s[i] = load_state (state + (i * groups + g) * LANES);
    }
#pragma GCC unroll 1
    for (unsigned t = 0; t < 64; t += 16)
      sixteen_rounds (group, groups, sha512_k + t, true);
    sixteen_rounds (group, groups, sha512_k + 64, false);
#pragma GCC unroll 2
    for (unsigned g = 0; g < groups; g++)
#pragma GCC unroll 8
      for (unsigned i = 0; i < 8; i++) {
        uint64_t *sum = state + (i * groups + g) * LANES;

        store_state (sum, add (group[g].s[i], load_state (sum)));
      }
  }
}

#endif /* BLKHASH_SHA512_VECTOR_H */
