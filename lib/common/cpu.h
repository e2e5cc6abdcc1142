/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The instruction sets for which there is code of our own: which of them the
 * CPU has and the operating system lets us use.  Knows nothing of digests.
 */

#ifndef BLKHASH_CPU_H
#define BLKHASH_CPU_H

#include <stddef.h>

enum {
  CPU_SHANI = 1,                /* SHA, SSSE3 and SSE4.1 */
  CPU_AVX2 = 2,
  CPU_AVX512 = 4,               /* F, BW and VL */
  CPU_ARM_SHA2 = 8,
  CPU_AMD = 16,                 /* made by AMD: what is fast there is its own */
  CPU_CRC32C = 32,              /* SSE4.2, or the CRC32 of ARMv8 */
};

/* All of the above that may be used here.  The CPU is asked once. */
unsigned cpu_features (void);

/* Store in NAME who made this CPU, its family and its model, in words, or "" if
 * that cannot be told.
 */
void cpu_name (char *name, size_t size);

#endif /* BLKHASH_CPU_H */
