/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The name of a dirty bitmap.
 */

#include <config.h>

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "changes/bitmap-name.h"
#include "util/error.h"

#define PREFIX "blk-"
#define MIN_DIGITS 8

int
bitmap_name_check (const char *name, const char *sum, struct error *error)
{
  const char *digits;
  size_t count;

  if (strncmp (name, PREFIX, strlen (PREFIX)) != 0)
    return 0;
  digits = name + strlen (PREFIX);
  count = strspn (digits, "0123456789abcdefABCDEF");
  /* Behind a sum there can be more, but no other letters of one word. */
  if (count < MIN_DIGITS || isalnum ((unsigned char) digits[count]))
    return 0;
  if (count <= strlen (sum) && strncasecmp (digits, sum, count) == 0)
    return 0;
  return error_set (error, "the dirty bitmap '%s' says what changed since "
                    "another sum than %s", name, sum);
}
