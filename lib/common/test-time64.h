/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For tests that wrap a libc function with a time parameter.  On 32 bit
 * machines, programs with a 64 bit time_t call a different symbol, so such a
 * test passes --wrap to the linker for both symbols.
 */

#ifndef BLKHASH_TEST_TIME64_H
#define BLKHASH_TEST_TIME64_H

#include <time.h>

/* Append this to the declaration of __wrap_FUNCTION.  In a program whose calls
 * of FUNCTION use the symbol __FUNCTION64, it renames the wrapper to
 * __wrap___FUNCTION64, which the linker calls instead of __FUNCTION64.
 */
#if defined __USE_TIME_BITS64 && defined __TIMESIZE && __TIMESIZE == 32
#define WRAPS_TIME64(function) __asm__ ("__wrap___" #function "64")
#else
#define WRAPS_TIME64(function)
#endif

#endif /* BLKHASH_TEST_TIME64_H */
