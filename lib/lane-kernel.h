/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a multi-buffer kernel is, and a hash that there are kernels of: one for
 * each instruction set and number of lanes.
 *
 * The hash is one of FIPS 180: it compresses the message, block after block,
 * into a state of words, each with the most significant byte first.
 */

#ifndef BLKHASH_LANE_KERNEL_H
#define BLKHASH_LANE_KERNEL_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More messages at a time are no faster with any kernel. */
#define LANES_MAX 32

#define LANE_MAX_BLOCK 128      /* bytes of a message block of any hash */
#define LANE_MAX_MD 64          /* bytes of a digest */

/* The state of all lanes, word by word: [words][lanes]. */
union lane_state {
  alignas (64) uint32_t word32[8 * LANES_MAX];
  uint64_t word64[8 * LANES_MAX];
};

struct lane_kernel {
  const char *name;             /* family-xLANES, for example "avx512-x16" */
  unsigned lanes;
  unsigned cpu;                 /* the features that it needs, of cpu.h */
  unsigned cost;                /* of one call, until measured: see lanes.c */

  /* Compress BLOCKS message blocks of each lane.  DATA[lane] has any alignment.
   * STATE is uint32_t or uint64_t [words][lanes], aligned to 64.
   */
  void (*compress) (void *state, const unsigned char *const *data,
                    size_t blocks);
};

/* Sizes are in bytes.  A digest is the first words of the last state: so hashes
 * that are other ones cut short, such as SHA-384, differ from them in numbers
 * only, and have the same kernels.
 */
struct lane_hash {
  const char *name;             /* as digest_name says it */
  size_t block;                 /* of a message block */
  size_t word;                  /* 4 or 8 */
  size_t words;                 /* of the state, at most 8 */
  size_t length;                /* of the field at the end, at least 8 */
  size_t md;                    /* of a digest */
  uint64_t initial_state[8];
  /* What lane_kernel_works compares with: the digests of the LANE_PROOF_LEN
   * bytes 0, 1, 2 ... and 255, 254, 253 ..., modulo 256.
   */
  unsigned char proof[2][LANE_MAX_MD];

  unsigned cost_plain;          /* of a message by OpenSSL, see lanes.c */
  const struct lane_kernel *const *kernels; /* the last is NULL */
};

#define LANE_PROOF_LEN 300      /* more than two message blocks of any hash */

/* Does KERNEL, which this CPU can run, compute what FIPS 180 says? */
bool lane_kernel_works (const struct lane_hash *hash,
                        const struct lane_kernel *kernel);

/* The same as lanes_hash with this kernel of HASH, COUNT up to its lanes. */
void lane_kernel_hash (const struct lane_hash *hash,
                       const struct lane_kernel *kernel,
                       const void *const data[], size_t len,
                       unsigned char *const md[], size_t count);

#endif /* BLKHASH_LANE_KERNEL_H */
