/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CRC32C, the polynomial of Castagnoli.
 */

#include <config.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "crc32c.h"

static uint32_t
plain (uint32_t crc, const unsigned char *p, size_t len)
{
  /* The CRCs of all half bytes. */
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

#if defined(__x86_64__)

__attribute__ ((target ("sse4.2")))
static uint32_t
sse42 (uint32_t crc32, const unsigned char *p, size_t len)
{
  uint64_t crc = crc32;

  for (; len >= 8; len -= 8, p += 8) {
    uint64_t word;

    memcpy (&word, p, 8);
    crc = __builtin_ia32_crc32di (crc, word);
  }
  return plain (crc, p, len);
}

static uint32_t
best (uint32_t crc, const unsigned char *p, size_t len)
{
  return __builtin_cpu_supports ("sse4.2") ? sse42 (crc, p, len)
                                           : plain (crc, p, len);
}

#else
#define best plain
#endif

uint32_t
crc32c (const void *buf, size_t len)
{
  return ~best (0xffffffff, buf, len);
}
