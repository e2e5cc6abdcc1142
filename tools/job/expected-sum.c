/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An expected checksum.
 */

#include <config.h>

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"

#include "../lib/common/hash-spec.h"
#include "job/expected-sum.h"
#include "util/error.h"
#include "util/result.h"

static struct blkhash_opts *
opts_of (const struct hash_spec *kind, const struct blkhash_opts *defaults,
         struct error *error)
{
  struct blkhash_opts *opts = hash_spec_opts (kind, defaults);

  if (opts)
    return opts;
  switch (errno) {
  case EINVAL:
    error_set (error, "unknown digest '%s'", kind->digest);
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
       struct hash_spec *kind, struct error *error)
{
  *kind = (struct hash_spec) { .block_size = 0 };
  if (!text)
    snprintf (kind->digest, sizeof kind->digest, "%s",
              blkhash_opts_get_digest_name (defaults));
  else if (hash_spec_parse (text, kind) != 0)
    return error_set (error, "'blk-%s' is not of the form blk-DIGEST/SIZE",
                      text);
  return 0;
}

static bool
is_of_kind (const struct known *known, const char *kind)
{
  if (!known->opts || !known->kind != !kind)
    return false;
  return !kind || strcmp (known->kind, kind) == 0;
}

static int
set_kind (struct known *known, const char *text,
          const struct blkhash_opts *defaults, struct error *error)
{
  struct hash_spec kind;

  known_destroy (known);
  if (parse (text, defaults, &kind, error) == -1)
    return -1;
  known->opts = opts_of (&kind, defaults, error);
  if (!known->opts)
    return -1;
  if (text && !(known->kind = strdup (text))) {
    known_destroy (known);
    return error_errno (error, ENOMEM, "cannot hash");
  }
  known->digits = 2 * blkhash_opts_get_digest_size (known->opts);
  return 0;
}

int
known_set (struct known *known, const char *kind, const char *hex,
           const struct blkhash_opts *defaults, struct error *error)
{
  if (!is_of_kind (known, kind) &&
      set_kind (known, kind, defaults, error) == -1)
    return -1;
  if (strlen (hex) != known->digits)
    return error_set (error, "it has %zu digits, but a checksum by %s has %u",
                      strlen (hex), blkhash_opts_get_digest_name (known->opts),
                      known->digits);
  return 0;
}

void
known_destroy (struct known *known)
{
  free (known->kind);
  blkhash_opts_free (known->opts);
  *known = (struct known) { 0 };
}

static int
digit_value (char c)
{
  static const char digits[] = "0123456789abcdef0123456789ABCDEF";
  const char *p = c ? strchr (digits, c) : NULL;

  return p ? (p - digits) % 16 : -1;
}

bool
known_matches (const char *hex, const struct sum *sum)
{
  unsigned i;

  for (i = 0; i < sum->md_len; i++) {
    int high = digit_value (hex[2 * i]);
    int low = high == -1 ? -1 : digit_value (hex[2 * i + 1]);

    if (low == -1 || sum->md[i] != high * 16 + low)
      return false;
  }
  return hex[2 * i] == '\0';
}
