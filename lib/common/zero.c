/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <string.h>

#include "common/util.h"
#include "common/zero.h"

/* Nearly all data has a nonzero byte among the first HEAD bytes.  If these are
 * zero, the whole buffer is zero if and only if it is equal to itself shifted
 * by HEAD bytes.  memcmp is the fastest loop for this, because libc selects an
 * implementation for the CPU.
 */
#define HEAD 16

bool
is_zero (const void *buf, size_t len)
{
  const unsigned char *p = buf;
  size_t i, head = MIN (len, HEAD);

  for (i = 0; i < head; i++)
    if (p[i])
      return false;
  return len <= HEAD || memcmp (p, p + HEAD, len - HEAD) == 0;
}
