/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a multi-buffer SHA-256 kernel is: one for each instruction set and
 * number of lanes; only sha256-*.c include this.
 */

#ifndef BLKHASH_SHA256_KERNEL_H
#define BLKHASH_SHA256_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More messages at a time are no faster with any kernel. */
#define SHA256_MAX_LANES 32

struct sha256_kernel {
  const char *name;             /* family-xLANES, for example "avx512-x16" */
  unsigned lanes;
  unsigned cpu;                 /* the features that it needs, of cpu.h */
  unsigned cost, cost_amd;      /* of one call: see lanes.c */

  /* Compress BLOCKS message blocks of 64 bytes of each lane.  DATA[lane] has
   * any alignment.  STATE is uint32_t[8][lanes], word by word, aligned to 64.
   */
  void (*compress) (uint32_t *state, const unsigned char *const *data,
                    size_t blocks);
};

extern const struct sha256_kernel sha256_avx512sha_x4, sha256_avx512_x16,
  sha256_avx2_x8, sha256_shani_x2, sha256_shani_x3, sha256_shani_x4,
  sha256_arm64_x2, sha256_arm64_x3, sha256_arm64_x4;

/* The constants of the 64 rounds, aligned to 16. */
extern const uint32_t sha256_k[64];

/* All kernels for this architecture, the last is NULL. */
extern const struct sha256_kernel *const sha256_kernels[];

/* Does KERNEL, which this CPU can run, compute what FIPS 180 says? */
bool sha256_kernel_works (const struct sha256_kernel *kernel);

/* The same as sha256_lanes_hash with this kernel, COUNT up to its lanes. */
void sha256_kernel_hash (const struct sha256_kernel *kernel,
                         const void *const data[], size_t len,
                         unsigned char *const md[], size_t count);

#endif /* BLKHASH_SHA256_KERNEL_H */
