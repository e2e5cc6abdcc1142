/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Whole messages by a kernel that only compresses message blocks: the state at
 * the beginning, the padding at the end, and the proof that it works.  What is
 * the same for all kernels.
 */

#include <config.h>

#include <assert.h>
#include <stdalign.h>
#include <string.h>

#include "lane-kernel.h"

#define MD_SIZE 32
#define BLOCK 64                /* bytes of a message block */

alignas (64) const uint32_t sha256_k[64] = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
  0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
  0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
  0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
  0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
  0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static const uint32_t initial_state[8] = {
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

const struct sha256_kernel *const sha256_kernels[] = {
#if defined __x86_64__
  &sha256_avx512sha_x4, &sha256_avx512_x16, &sha256_avx2_x8,
  &sha256_shani_x4, &sha256_shani_x3, &sha256_shani_x2,
#elif defined __AARCH64EL__
  &sha256_arm64_x4, &sha256_arm64_x3, &sha256_arm64_x2,
#endif
  NULL
};

static void
store_be32 (unsigned char *p, uint32_t x)
{
  p[0] = x >> 24;
  p[1] = x >> 16;
  p[2] = x >> 8;
  p[3] = x;
}

/* The end of a message of LEN bytes, from the last whole message block on: the
 * rest of it, a bit, zeros and the length in bits.  Returns its blocks.
 */
static size_t
pad (unsigned char end[2 * BLOCK], const unsigned char *message, size_t len)
{
  size_t rest = len % BLOCK;
  size_t blocks = rest + 1 + 8 <= BLOCK ? 1 : 2;
  uint64_t bits = (uint64_t) len * 8;

  memset (end, 0, 2 * BLOCK);
  if (rest > 0)
    memcpy (end, message + len - rest, rest);
  end[rest] = 0x80;
  store_be32 (end + blocks * BLOCK - 8, bits >> 32);
  store_be32 (end + blocks * BLOCK - 4, bits);
  return blocks;
}

/* Lanes without a message of their own do again what the first one does. */
void
sha256_kernel_hash (const struct sha256_kernel *kernel,
                    const void *const data[], size_t len,
                    unsigned char *const md[], size_t count)
{
  alignas (64) uint32_t state[8 * SHA256_MAX_LANES];
  unsigned char end[SHA256_MAX_LANES][2 * BLOCK];
  const unsigned char *from[SHA256_MAX_LANES] = { NULL };
  const size_t lanes = kernel->lanes;
  size_t i, word, blocks = 0;

  assert (count > 0 && count <= lanes && lanes <= SHA256_MAX_LANES);
  for (word = 0; word < 8; word++)
    for (i = 0; i < lanes; i++)
      state[word * lanes + i] = initial_state[word];
  for (i = 0; i < lanes; i++)
    from[i] = data[i < count ? i : 0];
  kernel->compress (state, from, len / BLOCK);

  for (i = 0; i < lanes; i++) {
    if (i < count)
      blocks = pad (end[i], from[i], len);
    from[i] = end[i < count ? i : 0];
  }
  kernel->compress (state, from, blocks);

  for (i = 0; i < count; i++)
    for (word = 0; word < 8; word++)
      store_be32 (md[i] + word * 4, state[word * lanes + i]);
}

#define PROOF_LEN 150           /* more than two message blocks */

/* SHA-256 of the bytes 0, 1, ... 149, and of 255, 254, ... 106. */
static const unsigned char proof_md[2][MD_SIZE] = {
  {
    0xf2, 0x2b, 0x2e, 0x61, 0x4e, 0x92, 0xd6, 0x45,
    0x36, 0x12, 0xb7, 0x07, 0x38, 0x50, 0x38, 0x30,
    0x02, 0x93, 0xd2, 0xcc, 0x29, 0x2b, 0x14, 0x8b,
    0xc5, 0x33, 0x57, 0x54, 0xb5, 0xea, 0x30, 0xfd,
  }, {
    0x30, 0x6d, 0xa8, 0x62, 0x69, 0x06, 0x24, 0x12,
    0x2b, 0xec, 0x48, 0x2a, 0x9f, 0xce, 0x11, 0xc1,
    0x36, 0xfd, 0x3f, 0xfe, 0x02, 0xf5, 0x35, 0xec,
    0x2b, 0xd0, 0x21, 0x95, 0x2d, 0x63, 0x74, 0xd1,
  },
};

/* Each lane gets either message by one bit of its number, for each bit: so no
 * two lanes have the same all the time, and none can stand in for another.
 */
bool
sha256_kernel_works (const struct sha256_kernel *kernel)
{
  unsigned char message[2][PROOF_LEN], md[SHA256_MAX_LANES][MD_SIZE];
  const void *data[SHA256_MAX_LANES];
  unsigned char *out[SHA256_MAX_LANES];
  size_t i, bit;

  for (i = 0; i < PROOF_LEN; i++) {
    message[0][i] = i;
    message[1][i] = 255 - i;
  }
  for (bit = 1; bit < kernel->lanes; bit *= 2) {
    for (i = 0; i < kernel->lanes; i++) {
      data[i] = message[(i & bit) != 0];
      out[i] = md[i];
    }
    sha256_kernel_hash (kernel, data, PROOF_LEN, out, kernel->lanes);
    for (i = 0; i < kernel->lanes; i++)
      if (memcmp (md[i], proof_md[(i & bit) != 0], MD_SIZE) != 0)
        return false;
  }
  return true;
}
