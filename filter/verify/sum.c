/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Parse a checksum of blkhash-verify-sum or blkhash-verify-sums, with the tag
 * that says how it was computed.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verify/sum.h"

static int
hex_digit (char c)
{
  static const char digits[] = "0123456789abcdef";
  const char *digit = c ? strchr (digits, tolower ((unsigned char) c)) : NULL;

  return digit ? digit - digits : -1;
}

/* Returns the digits at the end of TEXT, after ":" or " = ".  They can be
 * empty.  Returns NULL if the digits follow something else.
 */
static const char *
find_hex (const char *text)
{
  size_t len = strlen (text);

  while (len > 0 && hex_digit (text[len - 1]) != -1)
    len--;
  if (len >= 1 && text[len - 1] == ':')
    return text + len;
  if (len >= 3 && strncmp (text + len - 3, " = ", 3) == 0)
    return text + len;
  return NULL;
}

/* Returns -1 if HEX does not have the digits of SIZE bytes. */
static int
parse_hex (const char *hex, unsigned char *md, size_t size)
{
  size_t i;

  if (strlen (hex) != 2 * size)
    return -1;
  for (i = 0; i < size; i++)
    md[i] = hex_digit (hex[2 * i]) << 4 | hex_digit (hex[2 * i + 1]);
  return 0;
}

/* Parse "TAG:HEX", "TAG = HEX" or "TAG (NAME) = HEX".  Returns 0, or -1 with
 * errno set.
 */
static int
parse (struct sum *sum, const char *text)
{
  const char *hex = find_hex (text);
  char *tag;

  if (*text == '\\')            /* the name is escaped */
    text++;
  tag = strndup (text, strcspn (text, " :"));

  if (tag)
    sum->opts = blkhash_opts_from_tag (tag);
  free (tag);
  if (!sum->opts)
    return -1;
  if (hex && parse_hex (hex, sum->md,
                        blkhash_opts_get_digest_size (sum->opts)) == 0)
    return 0;
  errno = EINVAL;
  return -1;
}

int
sum_parse (struct sum *sum, const char *text)
{
  int err;

  *sum = (struct sum) { .opts = NULL };
  if (parse (sum, text) == 0)
    return 0;
  err = errno;
  sum_free (sum);
  errno = err;
  return -1;
}

void
sum_free (struct sum *sum)
{
  blkhash_opts_free (sum->opts);
  sum->opts = NULL;
}
