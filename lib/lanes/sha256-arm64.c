/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SHA-256 of two, three and four messages at once with the SHA-2 instructions
 * of ARMv8.  Each round of a message depends on the previous one, but the
 * rounds of different messages are independent.  So the lanes take turns, with
 * four rounds each.
 *
 * Padding is done by lane-kernel.c, and lanes.c checks that the CPU has the
 * instructions.  Called from any thread.
 *
 * The costs were derived and not measured, because the authors had no such
 * machine.  Four rounds take one SHA256H and one SHA256H2, which depend on the
 * result of the previous four rounds, and in three of four cases also one
 * SHA256SU0 and one SHA256SU1, whose results are not needed immediately.
 * According to the published tables of the Neoverse N2, SHA256H and SHA256H2
 * have a latency of 4 cycles, and all four instructions share one pipe, which
 * starts one instruction per cycle.  So for a single message four rounds take
 * 4 + 1 cycles, and keep that pipe busy for 2 + 2 * 3/4 = 3.5 cycles.  Two
 * messages at once fill the pipe and take 140 % of the time of one message; n
 * messages take 70 n %.  The costs include a small margin for other
 * instructions, and for the registers that four lanes spill.
 */

#include <config.h>

#ifdef __AARCH64EL__            /* big-endian CPUs do not use these kernels */

#include <arm_neon.h>

#include "common/cpu.h"
#include "lanes/lane-kernel.h"

#define TARGET __attribute__ ((target ("+crypto")))
#define INLINE inline __attribute__ ((always_inline)) TARGET
#define MAX_LANES 4

/* Every loop over lanes, rounds and vectors is unrolled, because an array that
 * is indexed by a variable is kept in memory and not in registers.
 */
#define UNROLLED(I, COUNT) _Pragma ("GCC unroll 16") \
  for (unsigned I = 0; I < COUNT; I++)

/* The state of one message, and 16 words of its schedule. */
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

/* Run rounds 4 GROUP to 4 GROUP + 3. */
static INLINE void
four_rounds (struct lane *lane, unsigned group)
{
  const uint32x4_t wk = vaddq_u32 (lane->w[group % 4],
                                   vld1q_u32 (sha256_k + 4 * group));
  const uint32x4_t abcd = lane->abcd;

  lane->abcd = vsha256hq_u32 (abcd, lane->efgh, wk);
  lane->efgh = vsha256h2q_u32 (lane->efgh, abcd, wk);
}

/* Replace the words of rounds 4 GROUP to 4 GROUP + 3, which have been used,
 * with those of 16 rounds later.
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

/* Define a kernel, in which the number of lanes is a constant. */
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
