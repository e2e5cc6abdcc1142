/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How a sum is made, as text.
 *
 * What is parsed is printed again and compared, so that there is one spelling:
 * no alias of a digest, no "1024k" for "1m", no leading zero.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"
#include "sum-tag.h"

#define MAX_DIGITS 9            /* of a number that fits in 32 bits */

char *
sum_tag (const struct blkhash_opts *opts)
{
  uint32_t size = blkhash_opts_get_block_size (opts);
  unsigned streams = blkhash_opts_get_streams (opts);
  char construction[32] = "", *text;
  const char *unit = "";

  if (size % (1024 * 1024) == 0)
    size /= 1024 * 1024, unit = "m";
  else if (size % 1024 == 0)
    size /= 1024, unit = "k";
  if (streams > 0)
    snprintf (construction, sizeof construction, "/s%u", streams);
  else if (blkhash_opts_get_linear (opts))
    strcpy (construction, "/linear");
  if (asprintf (&text, "blk-%s/%u%s%s", blkhash_opts_get_digest_name (opts),
                size, unit, construction) == -1)
    return NULL;
  return text;
}

/* Move *TEXT behind its digits.  0 if there are none, or too many. */
static unsigned
parse_number (const char **text)
{
  unsigned value = 0;
  int digits;

  for (digits = 0; isdigit ((unsigned char) **text); digits++, (*text)++) {
    if (digits == MAX_DIGITS)
      return 0;
    value = 10 * value + (**text - '0');
  }
  return value;
}

/* Of "64k/s64", what comes behind the digest. */
static int
parse_rest (struct blkhash_opts *opts, const char *text)
{
  uint64_t size = parse_number (&text);

  if (*text == 'm')
    size <<= 20, text++;
  else if (*text == 'k')
    size <<= 10, text++;
  if (size > UINT32_MAX || blkhash_opts_set_block_size (opts, size) != 0)
    return EINVAL;
  if (strcmp (text, "/linear") == 0)
    return blkhash_opts_set_linear (opts, 1);
  if (strncmp (text, "/s", 2) == 0) {
    text += 2;
    return blkhash_opts_set_streams (opts, parse_number (&text));
  }
  return 0;
}

static bool
is_spelled (const struct blkhash_opts *opts, const char *text)
{
  char *spelled = sum_tag (opts);
  bool same = spelled && strcmp (spelled, text) == 0;

  errno = spelled ? EINVAL : ENOMEM;
  free (spelled);
  return same;
}

struct blkhash_opts *
sum_tag_parse (const char *text)
{
  const char *name = text + strlen ("blk-"), *end;
  struct blkhash_opts *opts;
  char *digest;

  errno = EINVAL;
  if (strncmp (text, "blk-", strlen ("blk-")) != 0)
    return NULL;
  end = strchr (name, '/');
  if (!end)
    return NULL;
  digest = strndup (name, end - name);
  if (!digest)
    return NULL;
  opts = blkhash_opts_new (digest);
  free (digest);
  if (!opts)
    return NULL;
  errno = parse_rest (opts, end + 1);
  if (errno == 0 && is_spelled (opts, text))
    return opts;
  blkhash_opts_free (opts);
  return NULL;
}
