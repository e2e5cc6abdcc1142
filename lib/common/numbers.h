/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Arithmetic that the C library lacks.  The macros may evaluate an argument
 * twice.
 */

#ifndef BLKHASH_NUMBERS_H
#define BLKHASH_NUMBERS_H

/* On some systems <sys/param.h> also defines these. */
#undef MIN
#undef MAX
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* ALIGN must be a power of two, and have the same type as N. */
#define ROUND_DOWN(n, align) ((n) & ~((align) - 1))
/* N + ALIGN must not overflow. */
#define ROUND_UP(n, align) ROUND_DOWN ((n) + ((align) - 1), align)

/* The number of units of size N needed to hold LEN.  LEN + N must not overflow.
 */
#define DIV_ROUND_UP(len, n) (((len) + ((n) - 1)) / (n))

#endif /* BLKHASH_NUMBERS_H */
