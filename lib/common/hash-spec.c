/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The text is untrusted.  The parser checks only its form, and clamps numbers
 * so that they do not overflow.  The functions of the library check the values.
 */

#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "blkhash.h"
#include "common/hash-spec.h"

#define TOO_LARGE (1u << 26)    /* larger than any valid size or number of
                                 * streams */

/* Parse the number at *TEXT and advance *TEXT.  Returns 0 if there is no number
 * of 1 or more.  Numbers above TOO_LARGE are clamped to it.
 */
static uint32_t
read_number (const char **text)
{
  uint32_t number = 0;

  for (; isdigit ((unsigned char) **text); ++*text) {
    number = number * 10 + (**text - '0');
    if (number > TOO_LARGE)
      number = TOO_LARGE;
  }
  return number;
}

/* Parse a size in bytes, with or without a unit.  Returns 0 if there is no
 * size.
 */
static uint32_t
read_size (const char **text)
{
  static const char units[] = "kmg";
  uint32_t size = read_number (text);
  const char *unit = strchr (units, tolower ((unsigned char) **text));
  unsigned shift;

  if (size == 0 || **text == '\0' || !unit)
    return size;
  ++*text;
  shift = 10 * (unit - units + 1);
  return size > TOO_LARGE >> shift ? TOO_LARGE : size << shift;
}

static bool
read_digest (const char **text, struct hash_spec *spec)
{
  size_t len = 0;

  while (isalnum ((unsigned char) (*text)[len]) || (*text)[len] == '-')
    len++;
  if (len == 0 || len >= sizeof spec->digest)
    return false;
  memcpy (spec->digest, *text, len);
  spec->digest[len] = '\0';
  *text += len;
  return true;
}

static bool
read_construction (const char **text, struct hash_spec *spec)
{
  if (strcasecmp (*text, "linear") == 0) {
    spec->linear = true;
    *text += strlen (*text);
    return true;
  }
  if (tolower ((unsigned char) **text) != 's')
    return false;
  ++*text;
  spec->streams = read_number (text);
  return spec->streams > 0;
}

/* If all of TEXT is the name of a digest, store it in SPEC and return true.
 * Some names of OpenSSL's digests, such as SHA2-512/256, contain a slash.
 */
static bool
is_name_with_slash (const char *text, struct hash_spec *spec)
{
  size_t len = strlen (text);
  struct blkhash_opts *opts;

  if (len >= sizeof spec->digest)
    return false;
  opts = blkhash_opts_new (text);
  if (!opts)
    return false;
  blkhash_opts_free (opts);
  memcpy (spec->digest, text, len + 1);
  return true;
}

int
hash_spec_parse (const char *text, struct hash_spec *spec)
{
  const char *p = text;

  *spec = (struct hash_spec) { .streams = 0 };
  if (!read_digest (&p, spec))
    return EINVAL;
  if (*p == '\0' || is_name_with_slash (text, spec))
    return 0;
  if (*p++ != '/' || (spec->block_size = read_size (&p)) == 0)
    return EINVAL;
  if (*p == '/' && (p++, !read_construction (&p, spec)))
    return EINVAL;
  return *p == '\0' ? 0 : EINVAL;
}

int
hash_spec_parse_user (const char *text, struct hash_spec *spec)
{
  bool is_tag = strncasecmp (text, "blk-", 4) == 0;

  return hash_spec_parse (text + (is_tag ? 4 : 0), spec);
}

static int
set_construction (struct blkhash_opts *opts, const struct hash_spec *spec)
{
  if (blkhash_opts_set_streams (opts, spec->streams) != 0 ||
      blkhash_opts_set_linear (opts, spec->linear) != 0)
    return ENOTSUP;
  return 0;
}

struct blkhash_opts *
hash_spec_opts (const struct hash_spec *spec,
                const struct blkhash_opts *defaults)
{
  struct blkhash_opts *opts = blkhash_opts_new (spec->digest);
  int err = 0;

  if (!opts)
    return NULL;
  blkhash_opts_set_threads (opts, blkhash_opts_get_threads (defaults));
  blkhash_opts_set_queue_depth (opts, blkhash_opts_get_queue_depth (defaults));
  blkhash_opts_set_block_size (opts, blkhash_opts_get_block_size (defaults));
  blkhash_opts_set_streams (opts, blkhash_opts_get_streams (defaults));
  blkhash_opts_set_linear (opts, blkhash_opts_get_linear (defaults));
  if (hash_spec_is_complete (spec))
    err = blkhash_opts_set_block_size (opts, spec->block_size)
      ? EDOM : set_construction (opts, spec);
  if (err) {
    blkhash_opts_free (opts);
    errno = err;
    return NULL;
  }
  return opts;
}
