/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CRC32C, with the instructions of x86-64 and ARMv8 if the CPU has them.
 */

#include <config.h>

#include <string.h>

#if defined __AARCH64EL__ && defined __linux__
#include <arm_acle.h>
#endif

#include "common/cpu.h"
#include "manifest/crc32c.h"

static uint32_t
portable (uint32_t crc, const unsigned char *p, size_t len)
{
  /* The CRC of each half byte. */
  static const uint32_t table[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
    0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
    0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
  };

  for (; len > 0; len--) {
    crc ^= *p++;
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return crc;
}

#if defined __x86_64__

#define WORD(crc, word) __builtin_ia32_crc32di (crc, word)
#define TARGET __attribute__ ((target ("sse4.2")))

#elif defined __AARCH64EL__ && defined __linux__

#define WORD(crc, word) __crc32cd (crc, word)
#define TARGET __attribute__ ((target ("+crc")))

#endif

#ifdef WORD

TARGET static uint32_t
by_words (uint32_t crc, const unsigned char *p, size_t len)
{
  uint64_t word;

  for (; len >= sizeof word; len -= sizeof word, p += sizeof word) {
    memcpy (&word, p, sizeof word);
    crc = WORD (crc, word);
  }
  return portable (crc, p, len);
}

uint32_t
crc32c (uint32_t crc, const void *buf, size_t len)
{
  return cpu_features () & CPU_CRC32C ? ~by_words (~crc, buf, len)
                                      : crc32c_portable (crc, buf, len);
}

#else

uint32_t
crc32c (uint32_t crc, const void *buf, size_t len)
{
  return crc32c_portable (crc, buf, len);
}

#endif

uint32_t
crc32c_portable (uint32_t crc, const void *buf, size_t len)
{
  return ~portable (~crc, buf, len);
}
