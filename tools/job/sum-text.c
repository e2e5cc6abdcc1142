/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A checksum in the argument of an option, in one of these forms:
 *
 *   HEX
 *   blk-DIGEST/SIZE:HEX    has no spaces, for programs that pass it on
 *   blk-DIGEST/SIZE = HEX  is what --tag --no-names prints
 *
 * A carriage return at the end is ignored, as in lists: a shell leaves it when
 * it reads a file that was written on Windows.
 */

#include <config.h>

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "blkhash.h"

#include "job/expected-sum.h"
#include "job/sum-text.h"
#include "util/error.h"

/* Refuse a checksum with another prefix, such as "sha256:HEX", which other
 * programs use for the checksum of a file.
 */
static int
refuse_prefix (const char *prefix, const char *option, struct error *error)
{
  struct blkhash_opts *opts = blkhash_opts_new (prefix);
  const char *digest;           /* not a part of OPTS */

  if (!opts)
    return error_set (error, "%s: '%s' is not blk-DIGEST/SIZE", option, prefix);
  digest = blkhash_opts_get_digest_name (opts);
  blkhash_opts_free (opts);
  return error_set (error, "%s: '%s' is for the checksum of a file; "
                    "blk-%s/SIZE is for that of the disk in the file, which is "
                    "different", option, prefix, digest);
}

/* Split TEXT into the hash spec, such as "sha256/64k", and the digits.  *SPEC
 * is NULL if TEXT has no hash spec.
 */
static int
split (char *text, const char *option, const char **spec, const char **hex,
       struct error *error)
{
  size_t len = strlen (text);
  char *end, *digits = text;

  *spec = NULL;
  if (len > 0 && text[len - 1] == '\r')
    text[len - 1] = '\0';
  end = strstr (text, " = ");
  if (end)
    digits = end + strlen (" = ");
  else if ((end = strrchr (text, ':')))
    digits = end + 1;
  if (end) {
    *end = '\0';
    if (strncmp (text, "blk-", 4) != 0)
      return refuse_prefix (text, option, error);
    *spec = text + 4;
  }
  *hex = digits;
  while (isxdigit ((unsigned char) *digits))
    digits++;
  if (*digits || digits == *hex)
    return error_set (error, "%s: '%s' is not a hexadecimal checksum", option,
                      *hex);
  return 0;
}

int
sum_text_parse (char *text, const char *option,
                const struct blkhash_opts *defaults,
                struct expected_sum *expected, const char **hex,
                struct error *error)
{
  struct error reason = { "" };
  const char *spec;

  if (split (text, option, &spec, hex, error) == -1)
    return -1;
  if (expected_sum_set (expected, spec, *hex, defaults, &reason) == -1)
    return error_set (error, "%s: %s", option, reason.text);
  return 0;
}
