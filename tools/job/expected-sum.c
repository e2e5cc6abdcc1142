/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compare an expected checksum with the checksum of an image.
 */

#include <config.h>

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "blkhash.h"

#include "../lib/common/hash-spec.h"
#include "../lib/common/sum-line.h"
#include "job/expected-sum.h"
#include "util/error.h"
#include "util/result.h"

static struct blkhash_opts *
opts_of (const struct hash_spec *spec, const struct blkhash_opts *defaults,
         struct error *error)
{
  struct blkhash_opts *opts = hash_spec_opts (spec, defaults);

  if (opts)
    return opts;
  switch (errno) {
  case EINVAL:
    error_set (error, "unknown digest '%s'", spec->digest);
    break;
  case EDOM:
    error_set (error, "its block size is not a power of two from 4 to 16m");
    break;
  case ENOTSUP:
    error_set (error, "it has more than 1024 streams");
    break;
  default:
    error_errno (error, errno, "cannot hash");
  }
  return NULL;
}

static int
parse (const char *text, const struct blkhash_opts *defaults,
       struct hash_spec *spec, struct error *error)
{
  *spec = (struct hash_spec) { .block_size = 0 };
  if (!text)
    snprintf (spec->digest, sizeof spec->digest, "%s",
              blkhash_opts_get_digest_name (defaults));
  else if (hash_spec_parse (text, spec) != 0)
    return error_set (error, "'blk-%s' is not of the form blk-DIGEST/SIZE",
                      text);
  return 0;
}

static bool
has_spec (const struct expected_sum *expected, const char *spec)
{
  if (!expected->opts || !expected->spec != !spec)
    return false;
  return !spec || strcmp (expected->spec, spec) == 0;
}

static int
set_spec (struct expected_sum *expected, const char *text,
          const struct blkhash_opts *defaults, struct error *error)
{
  struct hash_spec spec;

  expected_sum_destroy (expected);
  if (parse (text, defaults, &spec, error) == -1)
    return -1;
  expected->opts = opts_of (&spec, defaults, error);
  if (!expected->opts)
    return -1;
  if (text && !(expected->spec = strdup (text))) {
    expected_sum_destroy (expected);
    return error_errno (error, ENOMEM, "cannot hash");
  }
  expected->digits = 2 * blkhash_opts_get_digest_size (expected->opts);
  return 0;
}

int
expected_sum_set (struct expected_sum *expected, const char *spec,
                  const char *hex,
                  const struct blkhash_opts *defaults, struct error *error)
{
  if (!has_spec (expected, spec) &&
      set_spec (expected, spec, defaults, error) == -1)
    return -1;
  if (strlen (hex) != expected->digits)
    return error_set (error, "it has %zu digits, but %s checksums have %u",
                      strlen (hex),
                      blkhash_opts_get_digest_name (expected->opts),
                      expected->digits);
  return 0;
}

void
expected_sum_destroy (struct expected_sum *expected)
{
  free (expected->spec);
  blkhash_opts_free (expected->opts);
  *expected = (struct expected_sum) { 0 };
}

bool
expected_sum_matches (const char *hex, const struct sum *sum)
{
  char own[SUM_HEX_SIZE];

  sum_line_hex (sum->md, sum->md_len, own);
  return strcasecmp (hex, own) == 0;
}
