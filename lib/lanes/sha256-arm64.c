/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 of two, three and four messages at once with the SHA-2 instructions
 * of ARMv8.  The rounds of one message wait for each other; those of several
 * messages do not, so the lanes take turns, four rounds of each.
 *
 * Padding is done by lane-kernel.c, and lanes.c checks that the CPU has the
 * instructions.  Called from any thread.
 *
 * The costs were derived and not measured: the authors had no such machine.
 * Four rounds are one SHA256H and one SHA256H2, which need what the four rounds
 * before gave, and in three of four cases one SHA256SU0 and one SHA256SU1,
 * which no round waits for at once.  On a Neoverse N2, by its published tables,
 * the first two take 4 cycles and all four share one pipe, an instruction a
 * cycle.  So a message alone takes 4 + 1 cycles for four rounds, and keeps that
 * pipe busy for 2 + 2 * 3/4 = 3.5 of them: two messages at once fill it and
 * take 140 % of the time of one, and n messages 70 n %.  The costs leave a
 * little for the rest, and for the registers that four lanes spill.
 */

#include <config.h>

#ifdef __AARCH64EL__            /* a big-endian CPU does without */

#include <arm_neon.h>

#include "common/cpu.h"
#include "lanes/sha256.h"

#define TARGET __attribute__ ((target ("+crypto")))
#define INLINE inline __attribute__ ((always_inline)) TARGET
#define MAX_LANES 4

/* Every loop over lanes, rounds and vectors is unrolled: an index that is no
 * constant would keep them in memory instead of registers.
 */
#define UNROLLED(I, COUNT) _Pragma ("GCC unroll 16") \
  for (unsigned I = 0; I < COUNT; I++)

/* One message: its state, and sixteen words of its schedule. */
struct lane {
  uint32x4_t abcd, efgh;
  uint32x4_t w[4];
};

static INLINE void
load_block (struct lane *lane, const unsigned char *block)
{
  UNROLLED (i, 4)
    lane->w[i] = vreinterpretq_u32_u8 (vrev32q_u8 (vld1q_u8 (block + 16 * i)));
}

/* Rounds 4 GROUP .. 4 GROUP + 3. */
static INLINE void
four_rounds (struct lane *lane, unsigned group)
{
  const uint32x4_t wk = vaddq_u32 (lane->w[group % 4],
                                   vld1q_u32 (sha256_k + 4 * group));
  const uint32x4_t abcd = lane->abcd;

  lane->abcd = vsha256hq_u32 (abcd, lane->efgh, wk);
  lane->efgh = vsha256h2q_u32 (lane->efgh, abcd, wk);
}

/* Replace the words of rounds 4 GROUP .. 4 GROUP + 3, which were used, by
 * those of sixteen rounds later.
 */
static INLINE void
extend (struct lane *lane, unsigned group)
{
  uint32x4_t *w = lane->w;

  w[group % 4] =
    vsha256su1q_u32 (vsha256su0q_u32 (w[group % 4], w[(group + 1) % 4]),
                     w[(group + 2) % 4], w[(group + 3) % 4]);
}

static INLINE void
compress_block (struct lane *lane, unsigned lanes,
                const unsigned char *const *data, size_t offset)
{
  uint32x4_t abcd[MAX_LANES], efgh[MAX_LANES];

  UNROLLED (i, lanes) {
    abcd[i] = lane[i].abcd;
    efgh[i] = lane[i].efgh;
    load_block (&lane[i], data[i] + offset);
  }

  UNROLLED (group, 16) {
    UNROLLED (i, lanes) {
      four_rounds (&lane[i], group);
      if (group < 12)
        extend (&lane[i], group);
    }
  }

  UNROLLED (i, lanes) {
    lane[i].abcd = vaddq_u32 (lane[i].abcd, abcd[i]);
    lane[i].efgh = vaddq_u32 (lane[i].efgh, efgh[i]);
  }
}

static INLINE void
compress (uint32_t *state, unsigned lanes, const unsigned char *const *data,
          size_t blocks)
{
  struct lane lane[MAX_LANES];
  uint32_t words[8];

  UNROLLED (i, lanes) {
    UNROLLED (j, 8)
      words[j] = state[j * lanes + i];
    lane[i].abcd = vld1q_u32 (words);
    lane[i].efgh = vld1q_u32 (words + 4);
  }

  for (size_t block = 0; block < blocks; block++)
    compress_block (lane, lanes, data, 64 * block);

  UNROLLED (i, lanes) {
    vst1q_u32 (words, lane[i].abcd);
    vst1q_u32 (words + 4, lane[i].efgh);
    UNROLLED (j, 8)
      state[j * lanes + i] = words[j];
  }
}

/* One kernel: the number of lanes is a constant in each. */
#define KERNEL(LANES, COST)                                             \
  static TARGET void                                                    \
  compress_x##LANES (void *state, const unsigned char *const *data,     \
                     size_t blocks)                                     \
  {                                                                     \
    compress (state, LANES, data, blocks);                              \
  }                                                                     \
                                                                        \
  const struct lane_kernel sha256_arm64_x##LANES = {                    \
    .name = "arm64-x" #LANES,                                           \
    .lanes = LANES,                                                     \
    .cpu = CPU_ARM_SHA2,                                                \
    .cost = COST,                                                       \
    .compress = compress_x##LANES,                                      \
  }

KERNEL (2, 145);
KERNEL (3, 215);
KERNEL (4, 290);

#endif /* __AARCH64EL__ */
