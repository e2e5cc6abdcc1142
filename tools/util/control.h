/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Control characters, which a terminal executes instead of printing them.
 */

#ifndef BLKSUM_CONTROL_H
#define BLKSUM_CONTROL_H

#include <stddef.h>

/* Returns the length in bytes of the control character at TEXT, or 0 if there
 * is none at TEXT.  C1 control characters in UTF-8 count as control characters;
 * NUL does not.
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
