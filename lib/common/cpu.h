/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Detect the instruction sets that the kernels, our SIMD implementations of
 * hashes, need: a feature is set if the CPU has the instructions and the
 * operating system saves their registers.
 */

#ifndef BLKHASH_CPU_H
#define BLKHASH_CPU_H

enum {
  CPU_SHANI = 1,                /* SHA, SSSE3 and SSE4.1 */
  CPU_AVX2 = 2,
  CPU_AVX512 = 4,               /* F, BW and VL */
  CPU_ARM_SHA2 = 8,
  CPU_AMD = 16,                 /* the vendor is AMD; some kernels are fast only
                                 * on AMD CPUs */
  CPU_CRC32C = 32,              /* SSE4.2, or the CRC32 of ARMv8 */
};

/* Returns the features that can be used on this CPU.  The result is cached.
 * Thread-safe.
 */
unsigned cpu_features (void);

#endif /* BLKHASH_CPU_H */
