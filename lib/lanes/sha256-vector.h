/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 of many messages in vectors of 32-bit words.  Each element of a
 * vector belongs to one lane.  This file is a template for vectors of any
 * width: the including file first defines vec (the type), LANES (the number of
 * lanes of one vector), MAX_GROUPS, INLINE (with the instruction set) and the
 * operations.
 *
 * A group has as many lanes as a vector has elements.  On CPUs where an
 * operation has a latency of more than one cycle, one group cannot keep the
 * vector units busy, but two groups whose rounds alternate can.
 *
 * The order of the operations is fixed in the source, and not left to GCC: see
 * STAY_HERE, and the function add in the files that define the operations.
 */

#ifndef BLKHASH_SHA256_VECTOR_H
#define BLKHASH_SHA256_VECTOR_H

#define big_sigma0(x) xor3 (rotate (x, 2), rotate (x, 13), rotate (x, 22))
#define big_sigma1(x) xor3 (rotate (x, 6), rotate (x, 11), rotate (x, 25))
#define sigma0(x) xor3 (rotate (x, 7), rotate (x, 18), shift (x, 3))
#define sigma1(x) xor3 (rotate (x, 17), rotate (x, 19), shift (x, 10))

/* GCC moves no access to the schedule W across this.  Otherwise it keeps
 * words in registers until their next use, runs out of registers, and spills.
 */
#define STAY_HERE(w) __asm__ volatile ("" : : "r" (w) : "memory")

/* Do one of the eight steps, STEP, that load the message block at OFFSET of
 * each lane into the first 16 words of the schedule W.  Steps 0 to 3 read whole
 * cache lines: there can be more lanes than the cache has ways, so a line may
 * be evicted soon.  They store what they read in the space of words 16 to 31,
 * and steps 4 to 7 convert it to words 0 to 15.
 */
static INLINE void
load_step (vec *w, const unsigned groups, const unsigned step,
           const unsigned char *const *data, size_t offset)
{
  vec *read = w + 16 * groups;
  vec x[4];

#pragma GCC unroll 2
  for (unsigned g = 0; g < groups; g++) {
    if (step < 4) {
      read_lines (x, data + g * LANES, offset, step);
#pragma GCC unroll 4
      for (unsigned i = 0; i < 4; i++)
        read[(4 * step + i) * groups + g] = x[i];
    }
    else {
#pragma GCC unroll 4
      for (unsigned i = 0; i < 4; i++)
        x[i] = read[(4 * i + step - 4) * groups + g];
      make_words (x);
#pragma GCC unroll 4
      for (unsigned i = 0; i < 4; i++)
        w[WORD_NUMBER (step - 4, i) * groups + g] = swap_bytes (x[i]);
    }
  }
}

/* Returns the word of the schedule that is 16 words after the first word of W.
 */
static INLINE vec
next_word (const vec *w, const unsigned groups)
{
  return add (add (w[0], w[9 * groups]),
              add (sigma0 (w[groups]), sigma1 (w[14 * groups])));
}

/* The words of the state are not moved from a to b and so on.  Instead, their
 * names rotate with each round.
 *
 * The next round depends on the new e.  With SHORT_CHAIN the new e is ready one
 * addition earlier, at the cost of one more addition per round.
 */
static INLINE void
one_round (vec s[8], vec w, uint32_t k, const unsigned i,
           const bool short_chain)
{
  vec a = s[(8 - i) % 8], b = s[(9 - i) % 8], c = s[(10 - i) % 8];
  vec e = s[(12 - i) % 8], f = s[(13 - i) % 8], g = s[(14 - i) % 8];
  vec *d = &s[(11 - i) % 8], *h = &s[(15 - i) % 8];
  vec sum = big_sigma1 (e);
  vec t = add (add (*h, add (w, set1 (k))), choose (e, f, g));

  if (short_chain) {
    *d = add (add (*d, t), sum);
    t = add (t, sum);
  }
  else {
    t = add (t, sum);
    *d = add (*d, t);
  }
  *h = add (t, add (majority (a, b, c), big_sigma0 (a)));
}

/* Run eight rounds from round T on, and compute the words of the schedule that
 * are needed 16 rounds later.
 */
static INLINE void
eight_rounds (vec *s, vec *w, const unsigned groups, unsigned t,
              const bool short_chain)
{
  w += t * groups;
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; i++)
#pragma GCC unroll 2
    for (unsigned g = 0; g < groups; g++) {
      STAY_HERE (w);
      one_round (s + g * 8, w[i * groups + g], sha256_k[t + i], i,
                 short_chain);
      w[(i + 16) * groups + g] = next_word (w + i * groups + g, groups);
    }
}

/* Run the last 16 rounds, after which no more words are needed, and between
 * them load the message block at OFFSET.  Rounds are mostly rotations and
 * loading is mostly shuffles, which use different units of the CPU, and the
 * data has time to arrive in the cache.
 */
static INLINE void
last_rounds (vec *s, vec *w, const unsigned groups,
             const unsigned char *const *data, size_t offset,
             const bool short_chain)
{
#pragma GCC unroll 16
  for (unsigned i = 0; i < 16; i++) {
#pragma GCC unroll 2
    for (unsigned g = 0; g < groups; g++)
      one_round (s + g * 8, w[(48 + i) * groups + g], sha256_k[48 + i], i % 8,
                 short_chain);
    if (i % 2 == 1)
      load_step (w, groups, i / 2, data, offset);
    STAY_HERE (w);
  }
}

/* Compress message blocks of GROUPS groups. */
static INLINE void
compress_groups (uint32_t *state, const unsigned char *const *data,
                 size_t blocks, const unsigned groups, const bool short_chain)
{
  vec s[8 * MAX_GROUPS], w[64 * MAX_GROUPS];

  if (blocks == 0)
    return;
#pragma GCC unroll 8
  for (unsigned i = 0; i < 8; i++)
    load_step (w, groups, i, data, 0);
  for (size_t i = 0; i < blocks; i++) {
    /* After the last block, the same block is loaded again and not used. */
    size_t next = i + 1 < blocks ? i + 1 : i;

#pragma GCC unroll 16
    for (unsigned j = 0; j < 8 * groups; j++)
      s[j % groups * 8 + j / groups] = load_state (state + j * LANES);
#pragma GCC unroll 1
    for (unsigned t = 0; t < 48; t += 8)
      eight_rounds (s, w, groups, t, short_chain);
    last_rounds (s, w, groups, data, next * 64, short_chain);
#pragma GCC unroll 16
    for (unsigned j = 0; j < 8 * groups; j++)
      store_state (state + j * LANES,
                   add (s[j % groups * 8 + j / groups],
                        load_state (state + j * LANES)));
  }
}

#endif /* BLKHASH_SHA256_VECTOR_H */
