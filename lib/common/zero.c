/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Is this buffer all zero?  Runs at memory speed, in any thread.
 */

#include <config.h>

#include <string.h>

#include "common/zero.h"

/* Nearly all data has a nonzero byte among the first.  If these are zero, the
 * buffer is zero if it equals itself shifted by their number: memcmp is the
 * fastest loop available, and libc selects it for the CPU.
 */
#define HEAD 16

bool
is_zero (const void *buf, size_t len)
{
  const unsigned char *p = buf;
  size_t i, head = len < HEAD ? len : HEAD;

  for (i = 0; i < head; i++)
    if (p[i])
      return false;
  return len <= HEAD || memcmp (p, p + HEAD, len - HEAD) == 0;
}
