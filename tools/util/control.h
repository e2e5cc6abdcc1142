/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Control characters, which a terminal does not print but obeys.
 */

#ifndef BLKSUM_CONTROL_H
#define BLKSUM_CONTROL_H

#include <stddef.h>

/* The length in bytes of the control character at TEXT, also of one of those
 * that UTF-8 has beyond ASCII; or 0: it is another.  NUL is none.
 */
static inline size_t
control_length (const char *text)
{
  const unsigned char *s = (const unsigned char *) text;

  if (s[0] == 0xc2)
    return (s[1] & 0xe0) == 0x80 ? 2 : 0;
  return (s[0] > 0 && s[0] < ' ') || s[0] == 127;
}

#endif /* BLKSUM_CONTROL_H */
