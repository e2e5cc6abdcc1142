/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <stdatomic.h>

#if defined __x86_64__
#include <cpuid.h>
#elif defined __AARCH64EL__ && defined __linux__
#include <sys/auxv.h>
#endif

#include "common/cpu.h"

#define DETECTED (1u << 31)     /* set in ANSWER once detect has returned */

#if defined __x86_64__

/* Bits of XCR0: registers that the operating system saves for each thread. */
#define XCR0_AVX 0x06
#define XCR0_AVX512 0xe6

static unsigned
saved_registers (void)
{
  unsigned low, high;

  __asm__ ("xgetbv" : "=a" (low), "=d" (high) : "c" (0));
  return low;
}

static unsigned
detect (void)
{
  unsigned a, b, c, d, leaf7, saved, vendor, features = 0;

  /* Use few CPUID instructions, because each takes microseconds in a virtual
   * machine.
   */
  if (__get_cpuid_max (0, &vendor) < 7)
    return 0;
  if (vendor == signature_AMD_ebx)
    features |= CPU_AMD;
  __cpuid_count (7, 0, a, leaf7, c, d);
  __cpuid (1, a, b, c, d);
  if (c & bit_SSE4_2)
    features |= CPU_CRC32C;
  if ((leaf7 & bit_SHA) && (c & bit_SSSE3) && (c & bit_SSE4_1))
    features |= CPU_SHANI;
  if (!(c & bit_OSXSAVE))
    return features;
  saved = saved_registers ();
  if ((leaf7 & bit_AVX2) && (saved & XCR0_AVX) == XCR0_AVX)
    features |= CPU_AVX2;
  if ((leaf7 & bit_AVX512F) && (leaf7 & bit_AVX512BW) &&
      (leaf7 & bit_AVX512VL) && (saved & XCR0_AVX512) == XCR0_AVX512)
    features |= CPU_AVX512;
  return features;
}

#elif defined __AARCH64EL__ && defined __linux__

static unsigned
detect (void)
{
  const unsigned long has = getauxval (AT_HWCAP);

  return (has & HWCAP_SHA2 ? CPU_ARM_SHA2 : 0) |
    (has & HWCAP_CRC32 ? CPU_CRC32C : 0);
}

#else

static unsigned
detect (void)
{
  return 0;
}

#endif

unsigned
cpu_features (void)
{
  static atomic_uint answer;
  unsigned features = atomic_load_explicit (&answer, memory_order_relaxed);

  if (!(features & DETECTED)) {
    features = DETECTED | detect ();
    atomic_store_explicit (&answer, features, memory_order_relaxed);
  }
  return features;
}
