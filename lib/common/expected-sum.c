/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parse an expected sum: its hash parameters, and its value.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/expected-sum.h"
#include "common/hash-spec.h"
#include "common/sums-line.h"

/* Set REASON, and return EINVAL. */
static int __attribute__ ((format (printf, 2, 3)))
refuse (char *reason, const char *fmt, ...)
{
  va_list args;

  va_start (args, fmt);
  vsnprintf (reason, BLKHASH_MAX_REASON_SIZE, fmt, args);
  va_end (args);
  return EINVAL;
}

static int
out_of_memory (char *reason)
{
  refuse (reason, "%s", strerror (ENOMEM));
  return ENOMEM;
}

/* Set SUM->opts to the parameters of the spec TEXT. */
static int
set_opts (struct expected_sum *sum, const char *text,
          const struct blkhash_opts *defaults, char *reason)
{
  struct hash_spec spec;

  if (!text)
    sum->opts = blkhash_opts_copy (defaults);
  else if (hash_spec_parse (text, &spec) != 0)
    return refuse (reason, "its tag is not of the form blk-DIGEST/SIZE");
  else
    sum->opts = hash_spec_opts (&spec, defaults);
  if (sum->opts)
    return 0;
  switch (errno) {
  case EINVAL: return refuse (reason, "unknown digest '%s'", spec.digest);
  case EDOM:
    return refuse (reason, "its block size is not a power of two from 4 to "
                   "16m");
  case ENOTSUP: return refuse (reason, "it has more than 1024 streams");
  }
  return out_of_memory (reason);
}

static unsigned
hex_value (char c)
{
  return c <= '9' ? c - '0' : tolower ((unsigned char) c) - 'a' + 10;
}

static int
set (struct expected_sum *sum, const struct sums_line *line,
     const struct blkhash_opts *defaults, char *reason)
{
  const char *hex = line->hex;
  unsigned i, size;
  int err = set_opts (sum, line->spec, defaults, reason);

  if (err)
    return err;
  sum->tagged = line->spec != NULL;
  size = blkhash_opts_get_digest_size (sum->opts);
  if (strlen (hex) != 2 * size)
    return refuse (reason, "it has %zu digits, but %s sums have %u",
                   strlen (hex), blkhash_opts_get_digest_name (sum->opts),
                   2 * size);
  for (i = 0; i < size; i++)
    sum->md[i] = hex_value (hex[2 * i]) << 4 | hex_value (hex[2 * i + 1]);
  return 0;
}

int
expected_sum_init (struct expected_sum *sum, const struct sums_line *line,
                   const struct blkhash_opts *defaults, char *reason)
{
  struct blkhash_opts *own = defaults ? NULL : blkhash_opts_new ("sha256");
  int err;

  *sum = (struct expected_sum) { .opts = NULL };
  if (!defaults && !own)
    return out_of_memory (reason);
  err = set (sum, line, own ? own : defaults, reason);
  blkhash_opts_free (own);
  if (err)
    expected_sum_destroy (sum);
  return err;
}

int
expected_sum_parse (struct expected_sum *sum, const char *text,
                    const struct blkhash_opts *defaults, char *reason)
{
  char *copy = strdup (text);
  struct sums_line line;
  int err;

  *sum = (struct expected_sum) { .opts = NULL };
  if (!copy)
    return out_of_memory (reason);
  sums_line_parse_text (copy, &line);
  err = line.type == SUMS_SUM
    ? expected_sum_init (sum, &line, defaults, reason)
    : refuse (reason, "%s", line.why);
  free (copy);
  return err;
}

void
expected_sum_destroy (struct expected_sum *sum)
{
  blkhash_opts_free (sum->opts);
  sum->opts = NULL;
}
