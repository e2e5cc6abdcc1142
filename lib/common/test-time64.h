/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For tests that wrap a function of libc that takes a time: on a machine of 32
 * bits a program whose time_t has 64 calls it by another name.  A test gives
 * the linker --wrap for both.
 */

#ifndef BLKHASH_TEST_TIME64_H
#define BLKHASH_TEST_TIME64_H

#include <time.h>

/* Behind the declaration of __wrap_FUNCTION: that is what is called. */
#if defined __USE_TIME_BITS64 && defined __TIMESIZE && __TIMESIZE == 32
#define WRAPS_TIME64(function) __asm__ ("__wrap___" #function "64")
#else
#define WRAPS_TIME64(function)
#endif

#endif /* BLKHASH_TEST_TIME64_H */
