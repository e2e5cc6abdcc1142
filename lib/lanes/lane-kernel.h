/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A kernel is a SIMD (multi-buffer) implementation of a hash: it hashes several
 * messages at a time, one in each lane.  A lane hash is a hash that has
 * kernels, for several instruction sets and numbers of lanes.
 *
 * The hash is one of FIPS 180, or BLAKE2b (RFC 7693).  It compresses the
 * message, one message block after the other, into a state that is an array of
 * words.
 */

#ifndef BLKHASH_LANE_KERNEL_H
#define BLKHASH_LANE_KERNEL_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The maximum number of lanes.  No kernel is faster with more. */
#define LANES_MAX 32

#define LANE_MAX_BLOCK 128      /* maximum size of a message block, in bytes */
#define LANE_MAX_MD 64          /* maximum size of a digest, in bytes */
#define LANE_MAX_WORDS 10       /* maximum number of words in a state */

/* The states of all lanes, ordered by word: [words][lanes]; or several such
 * states, each at a multiple of 64 bytes.
 */
union lane_state {
  alignas (64) uint32_t word32[LANE_MAX_WORDS * LANES_MAX];
  uint64_t word64[LANE_MAX_WORDS * LANES_MAX];
};

struct lane_kernel {
  const char *name;             /* family-xLANES, for example "avx512-x16"; a
                                 * letter can follow: "avx512-x16s" */
  unsigned lanes;
  unsigned cpu;                 /* required CPU features, see cpu.h */
  unsigned cost;                /* assumed cost of one call until it is
                                 * measured: see lanes.c */

  /* Compress BLOCKS message blocks of each lane.  DATA[lane] can have any
   * alignment.  STATE is uint32_t or uint64_t [words][lanes], aligned to 64.
   */
  void (*compress) (void *state, const unsigned char *const *data,
                    size_t blocks);
  /* The same for COUNT states, one after the other, and the data of all their
   * lanes.  NULL if COUNT calls of COMPRESS are as fast.
   */
  void (*compress_many) (void *states, const unsigned char *const *data,
                         size_t blocks, size_t count);
};

/* The padding of a message, and the byte order of its words. */
enum lane_kind {
  /* Padding with a 1 bit, zeros and the length in bits.  Words are big-endian.
   */
  LANE_FIPS180,
  /* Padding with zeros.  Words are little-endian.  The last message block is
   * compressed differently even if it is full; it is empty only if the message
   * is empty.  The eight words of the state are followed by two more words,
   * which are not part of the digest.  The first is the number of bytes
   * compressed: the kernel adds the size of each message block before it
   * compresses the block.  The second is all ones for the last block.
   */
  LANE_BLAKE2B,
};

/* Sizes are in bytes.  A digest is the first words of the final state.  So a
 * truncated hash, such as SHA-384, uses the kernels of the full hash, and
 * differs from it only in constants.
 */
struct lane_hash {
  const char *name;             /* as digest_name returns it */
  enum lane_kind kind;
  size_t block;                 /* size of a message block */
  size_t word;                  /* size of a word: 4 or 8 */
  size_t words;                 /* number of words in the state, at most
                                 * LANE_MAX_WORDS */
  size_t length;                /* size of the length field at the end of the
                                 * padding, at least 8; or 0 if there is none */
  size_t md;                    /* size of a digest */
  uint64_t initial_state[LANE_MAX_WORDS];
  /* Expected digests of the two messages of lane_kernel_works.  The bytes of
   * the messages, LANE_SELF_TEST_LEN each, are 0, 1, 2 ... and 255, 254, 253
   * ..., modulo 256.
   */
  unsigned char self_test_md[2][LANE_MAX_MD];

  unsigned cost_plain;          /* cost of one message without a kernel, on a
                                 * CPU without instructions for the hash: see
                                 * lanes.c */
  const struct lane_kernel *const *kernels; /* the last is NULL */
};

#define LANE_SELF_TEST_LEN 300  /* more than two message blocks of any hash */

/* Test KERNEL, which this CPU must be able to run.  Returns true if the kernel
 * computes the two digests in self_test_md of HASH.
 */
bool lane_kernel_works (const struct lane_hash *hash,
                        const struct lane_kernel *kernel);

/* The same as lanes_hash (see lanes.h), but hashes all COUNT messages with
 * KERNEL, which belongs to HASH.  COUNT is at least 1, and at most the number
 * of lanes, or a multiple of it up to LANES_MAX.  This function is never
 * inlined, not even by LTO, so that the code that passed the self-test is the
 * code that hashes.
 */
__attribute__ ((noinline))
void lane_kernel_hash (const struct lane_hash *hash,
                       const struct lane_kernel *kernel,
                       const void *const data[], size_t len,
                       unsigned char *const md[], size_t count);

/* ---- The hashes and their kernels ----
 *
 * A hash has a file with its constants and the list of its kernels, and one for
 * each instruction set.
 */

/* BLAKE2b.  The state of a kernel is uint64_t[10][lanes].  A message block has
 * 128 bytes.
 */
extern const struct lane_hash blake2b_256_lane_hash, blake2b_512_lane_hash;
extern const struct lane_kernel blake2b_avx512_x8, blake2b_avx512_x4,
  blake2b_avx2_x4;
extern const uint64_t blake2b_iv[8];

/* SHA-256.  The state of a kernel is uint32_t[8][lanes].  A message block has
 * 64 bytes.
 */
extern const struct lane_hash sha256_lane_hash;
extern const struct lane_kernel sha256_avx512sha_x4, sha256_avx512_x16,
  sha256_avx512_x16s, sha256_avx512_x32, sha256_avx2_x8, sha256_shani_x2,
  sha256_shani_x3, sha256_shani_x4, sha256_arm64_x2, sha256_arm64_x3,
  sha256_arm64_x4;
extern const uint32_t sha256_k[64]; /* of the rounds; aligned to 64 */

/* SHA-512 and SHA-384.  The state of a kernel is uint64_t[8][lanes].  A message
 * block has 128 bytes.
 */
extern const struct lane_hash sha384_lane_hash, sha512_lane_hash;
extern const struct lane_kernel sha512_avx512_x16, sha512_avx512_x8,
  sha512_avx512_x4, sha512_avx2_x4;
extern const uint64_t sha512_k[80]; /* of the rounds; aligned to 64 */

/* All of these hashes, terminated by NULL. */
extern const struct lane_hash *const lane_hashes[];

#endif /* BLKHASH_LANE_KERNEL_H */
