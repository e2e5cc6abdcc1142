/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Arithmetic that the C library lacks.  Macros evaluate an argument twice.
 */

#ifndef BLKHASH_NUMBERS_H
#define BLKHASH_NUMBERS_H

/* Some systems' <sys/param.h> has them too. */
#undef MIN
#undef MAX
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* ALIGN is a power of two, of the type of N. */
#define ROUND_DOWN(n, align) ((n) & ~((align) - 1))
/* N + ALIGN must not overflow. */
#define ROUND_UP(n, align) ROUND_DOWN ((n) + ((align) - 1), align)

/* How many of N are needed for LEN; LEN + N must not overflow. */
#define DIV_ROUND_UP(len, n) (((len) + ((n) - 1)) / (n))

#endif /* BLKHASH_NUMBERS_H */
