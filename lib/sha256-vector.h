/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 of many lanes in vectors of 32 bit words, one lane an element: what
 * is the same for each width of vector.  The file that includes this defines
 * vec (the type), WIDTH (lanes in one), INLINE (with the instruction set) and
 * the operations below.  GROUPS of WIDTH lanes are interleaved, so that one
 * computes while another waits for its results.
 */

#ifndef BLKHASH_SHA256_VECTOR_H
#define BLKHASH_SHA256_VECTOR_H

struct group {
  vec s[8];                     /* a .. h, their roles rotate */
  vec w[16];                    /* the last 16 words of the schedule */
};

/* Turn four vectors, of whose four-word parts each is a piece of one lane,
 * into the four words of all lanes.
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
load_words (struct group *group, const unsigned char *const *data,
            size_t offset)
{
#pragma GCC unroll 16
  for (unsigned i = 0; i < 16; i++)
    group->w[i] = load_pieces (data + i % 4, offset + i / 4 * 16);
#pragma GCC unroll 4
  for (unsigned i = 0; i < 16; i += 4)
    transpose (group->w + i);
}

#define big_sigma0(x) xor3 (rotate (x, 2), rotate (x, 13), rotate (x, 22))
#define big_sigma1(x) xor3 (rotate (x, 6), rotate (x, 11), rotate (x, 25))
#define sigma0(x) xor3 (rotate (x, 7), rotate (x, 18), shift (x, 3))
#define sigma1(x) xor3 (rotate (x, 17), rotate (x, 19), shift (x, 10))

static INLINE void
schedule (vec w[16], unsigned i)
{
  w[i] = add (add (w[i], w[(i + 9) % 16]),
              add (sigma0 (w[(i + 1) % 16]), sigma1 (w[(i + 14) % 16])));
}

static INLINE void
one_round (vec s[8], vec w, uint32_t k, unsigned i)
{
  vec a = s[(8 - i) % 8], b = s[(9 - i) % 8], c = s[(10 - i) % 8];
  vec e = s[(12 - i) % 8], f = s[(13 - i) % 8], g = s[(14 - i) % 8];
  vec t;

  t = add (add (add (s[(15 - i) % 8], add (w, every (k))), choose (e, f, g)),
           big_sigma1 (e));
  s[(11 - i) % 8] = add (s[(11 - i) % 8], t);
  s[(15 - i) % 8] = add (t, add (majority (a, b, c), big_sigma0 (a)));
}

#define STEP(i)                                                  \
  if (scheduled)                                                \
    schedule (group[0].w, i);                                   \
  one_round (group[0].s, group[0].w[i], k[i], i);               \
  if (groups == 2) {                                            \
    if (scheduled)                                              \
      schedule (group[1].w, i);                                 \
    one_round (group[1].s, group[1].w[i], k[i], i);             \
  }

static INLINE void
rounds (struct group group[2], const uint32_t k[16], const bool scheduled,
        const unsigned groups)
{
  STEP (0) STEP (1) STEP (2) STEP (3) STEP (4) STEP (5) STEP (6) STEP (7)
  STEP (8) STEP (9) STEP (10) STEP (11) STEP (12) STEP (13) STEP (14)
  STEP (15)
}

static INLINE void
compress (uint32_t *state, const unsigned char *const *data, size_t blocks,
          const unsigned groups)
{
  struct group group[2];
  const unsigned lanes = groups * WIDTH;
  size_t offset;

  for (offset = 0; offset < blocks * 64; offset += 64) {
#pragma GCC unroll 2
    for (unsigned g = 0; g < groups; g++) {
      load_words (&group[g], data + g * WIDTH, offset);
#pragma GCC unroll 8
      for (unsigned i = 0; i < 8; i++)
        group[g].s[i] = load_state (state + i * lanes + g * WIDTH);
    }
    rounds (group, sha256_k, false, groups);
#pragma GCC unroll 1
    for (unsigned t = 16; t < 64; t += 16)
      rounds (group, sha256_k + t, true, groups);
#pragma GCC unroll 2
    for (unsigned g = 0; g < groups; g++)
#pragma GCC unroll 8
      for (unsigned i = 0; i < 8; i++) {
        uint32_t *p = state + i * lanes + g * WIDTH;
        store_state (p, add (group[g].s[i], load_state (p)));
      }
  }
}

#define KERNEL(FAMILY, LANES, GROUPS, CPU, COST)                        \
  static TARGET void                                                    \
  compress_x##LANES (uint32_t *state, const unsigned char *const *data, \
                     size_t blocks)                                     \
  {                                                                     \
    compress (state, data, blocks, GROUPS);                             \
  }                                                                     \
                                                                        \
  const struct sha256_kernel sha256_##FAMILY##_x##LANES = {             \
    .name = #FAMILY "-x" #LANES,                                        \
    .lanes = LANES,                                                     \
    .cpu = CPU,                                                         \
    .cost = COST,                                                       \
    .compress = compress_x##LANES,                                      \
  }

#endif /* BLKHASH_SHA256_VECTOR_H */
