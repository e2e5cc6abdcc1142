/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The sum in the name of a dirty bitmap.
 */

#include <config.h>

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "changes/bitmap-name.h"
#include "util/error.h"

#define PREFIX "blk-"
#define MIN_DIGITS 8

/* Returns the number of hexadecimal digits of the sum in NAME, or 0 if there is
 * no sum.  Other text can follow the digits, but a letter must not.
 */
static size_t
count_digits (const char *name)
{
  const char *digits;
  size_t count;

  if (strncmp (name, PREFIX, strlen (PREFIX)) != 0)
    return 0;
  digits = name + strlen (PREFIX);
  count = strspn (digits, "0123456789abcdefABCDEF");
  return count < MIN_DIGITS || isalnum ((unsigned char) digits[count]) ? 0
                                                                       : count;
}

bool
bitmap_name_has_sum (const char *name)
{
  return count_digits (name) > 0;
}

int
bitmap_name_check (const char *name, const char *sum, struct error *error)
{
  size_t count = count_digits (name);

  if (count == 0 ||
      (count <= strlen (sum) &&
       strncasecmp (name + strlen (PREFIX), sum, count) == 0))
    return 0;
  return error_set (error, "the dirty bitmap '%s' records the changes since a "
                    "different sum, not since %s", name, sum);
}
