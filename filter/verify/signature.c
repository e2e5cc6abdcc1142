/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Recognize files of this filter by their first bytes.
 */

#include <config.h>

#include <string.h>
#include <unistd.h>

#include "verify/signature.h"

#define MAX_SIGNATURE 128

bool
signature_is (int fd, const char *signature)
{
  char start[MAX_SIGNATURE];
  size_t len = strlen (signature);

  return len <= sizeof start && pread (fd, start, len, 0) == (ssize_t) len &&
    memcmp (start, signature, len) == 0;
}
