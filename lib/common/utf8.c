/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <stdint.h>

#include "common/utf8.h"

size_t
utf8_length (const char *text)
{
  static const uint32_t min[] = { 0, 0, 0x80, 0x800, 0x10000 };
  const unsigned char *s = (const unsigned char *) text;
  size_t i, n = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 :
    s[0] < 0xf0 ? 3 : s[0] < 0xf8 ? 4 : 0;
  uint32_t c;

  if (n < 2)
    return n;
  c = s[0] & (0xff >> (n + 1));
  for (i = 1; i < n; i++) {
    if ((s[i] & 0xc0) != 0x80)
      return 0;
    c = c << 6 | (s[i] & 0x3f);
  }
  return c < min[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}
