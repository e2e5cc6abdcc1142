/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * CRC32C, with the instructions of x86-64 and ARMv8 if the CPU has them.
 *
 * Such an instruction has a latency of three cycles or more, but the CPU can
 * start one in each cycle.  So each 3 * PART bytes of a long buffer are divided
 * into three parts, whose CRCs are computed side by side and then combined.
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

#define PART 4096               /* bytes */

/* CRC is that of some data.  Returns the CRC of the same data followed by PART
 * bytes of zeros.  The function is linear: the result is the XOR of the results
 * for the bits that are set in CRC.
 */
static uint32_t
skip_part (uint32_t crc)
{
  static const uint32_t bits[32] = {
    0xc2a5b65e, 0x80a71a4d, 0x04a2426b, 0x094484d6,
    0x128909ac, 0x25121358, 0x4a2426b0, 0x94484d60,
    0x2d7cec31, 0x5af9d862, 0xb5f3b0c4, 0x6e0b1779,
    0xdc162ef2, 0xbdc02b15, 0x7e6c20db, 0xfcd841b6,
    0xfc5cf59d, 0xfd559dcb, 0xff474d67, 0xfb62ec3f,
    0xf329ae8f, 0xe3bf2bef, 0xc292212f, 0x80c834af,
    0x047c1faf, 0x08f83f5e, 0x11f07ebc, 0x23e0fd78,
    0x47c1faf0, 0x8f83f5e0, 0x1aeb9d31, 0x35d73a62,
  };
  uint32_t skipped = 0;
  unsigned i;

  for (i = 0; i < 32; i++)
    skipped ^= bits[i] & -(crc >> i & 1);
  return skipped;
}

/* Add the three parts at P to CRC. */
TARGET static uint32_t
by_parts (uint32_t crc, const unsigned char *p)
{
  uint32_t crc2 = 0, crc3 = 0;
  uint64_t word, word2, word3;
  size_t i;

  for (i = 0; i < PART; i += sizeof word) {
    memcpy (&word, p + i, sizeof word);
    memcpy (&word2, p + PART + i, sizeof word2);
    memcpy (&word3, p + 2 * PART + i, sizeof word3);
    crc = WORD (crc, word);
    crc2 = WORD (crc2, word2);
    crc3 = WORD (crc3, word3);
  }
  return skip_part (skip_part (crc) ^ crc2) ^ crc3;
}

TARGET static uint32_t
by_words (uint32_t crc, const unsigned char *p, size_t len)
{
  uint64_t word;

  for (; len >= 3 * PART; len -= 3 * PART, p += 3 * PART)
    crc = by_parts (crc, p);
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
