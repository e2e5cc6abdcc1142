/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Recognize files of this filter by their first bytes.
 */

#include <config.h>

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "verify/signature.h"

#define MAX_SIGNATURE 128

int
signature_is (int fd, const char *signature)
{
  char start[MAX_SIGNATURE];
  size_t len = strlen (signature);
  ssize_t n;

  assert (len <= sizeof start);
  n = pread (fd, start, len, 0);
  if (n == -1)
    return -1;
  return n == (ssize_t) len && memcmp (start, signature, len) == 0;
}
