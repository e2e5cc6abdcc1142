/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A multi-buffer kernel hashes several messages at a time, one in each lane.  A
 * lane hash has kernels for several instruction sets and numbers of lanes.
 *
 * The hash is one of FIPS 180, or BLAKE2 (RFC 7693): it compresses the message,
 * block after block, into a state of words.
 */

#ifndef BLKHASH_LANE_KERNEL_H
#define BLKHASH_LANE_KERNEL_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No kernel is faster with more messages at a time. */
#define LANES_MAX 32

#define LANE_MAX_BLOCK 128      /* bytes of a message block of any hash */
#define LANE_MAX_MD 64          /* bytes of a digest */
#define LANE_MAX_WORDS 10       /* of a state */

/* The state of all lanes, word by word: [words][lanes]. */
union lane_state {
  alignas (64) uint32_t word32[LANE_MAX_WORDS * LANES_MAX];
  uint64_t word64[LANE_MAX_WORDS * LANES_MAX];
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

/* The padding of a message, and the order of bytes. */
enum lane_kind {
  /* A bit, zeros and the length in bits; the most significant byte first. */
  LANE_FIPS180,
  /* Zeros; the least significant byte first.  The last block is special even if
   * it is full, and only an empty message has an empty one.  After its eight
   * words the state has two more, which are not part of the digest: the number
   * of bytes compressed, to which the kernel adds the size of each block before
   * it compresses it, and all ones for the last block.
   */
  LANE_BLAKE2B,
};

/* Sizes are in bytes.  A digest is the first words of the final state.  So a
 * truncated hash, such as SHA-384, differs from the full one in constants only,
 * and has the same kernels.
 */
struct lane_hash {
  const char *name;             /* as digest_name returns it */
  enum lane_kind kind;
  size_t block;                 /* of a message block */
  size_t word;                  /* 4 or 8 */
  size_t words;                 /* of the state, at most LANE_MAX_WORDS */
  size_t length;                /* of the field at the end, at least 8, or 0 */
  size_t md;                    /* of a digest */
  uint64_t initial_state[LANE_MAX_WORDS];
  /* What lane_kernel_works compares with: the digests of the LANE_PROOF_LEN
   * bytes 0, 1, 2 ... and 255, 254, 253 ..., modulo 256.
   */
  unsigned char proof[2][LANE_MAX_MD];

  unsigned cost_plain;          /* of a message by OpenSSL, see lanes.c */
  const struct lane_kernel *const *kernels; /* the last is NULL */
};

#define LANE_PROOF_LEN 300      /* more than two message blocks of any hash */

/* Test KERNEL, which this CPU can run: does it compute HASH? */
bool lane_kernel_works (const struct lane_hash *hash,
                        const struct lane_kernel *kernel);

/* The same as lanes_hash with this kernel of HASH, COUNT up to its lanes.  Not
 * inline, not even with LTO, so that the code that was tested is the code that
 * hashes.
 */
__attribute__ ((noinline))
void lane_kernel_hash (const struct lane_hash *hash,
                       const struct lane_kernel *kernel,
                       const void *const data[], size_t len,
                       unsigned char *const md[], size_t count);

#endif /* BLKHASH_LANE_KERNEL_H */
