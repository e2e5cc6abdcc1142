/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The tag of options: a text that identifies the parameters of a hash, such as
 * blk-sha256/64k.
 *
 * The options of a parsed tag are formatted again and compared with the input.
 * So only one spelling is valid: an alias of a digest, "1024k" instead of "1m",
 * and a leading zero are errors.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "blkhash.h"
#include "common/hash-spec.h"

int
blkhash_opts_get_tag (const struct blkhash_opts *opts, char *tag, size_t size)
{
  uint32_t block_size = blkhash_opts_get_block_size (opts);
  unsigned streams = blkhash_opts_get_streams (opts);
  char construction[16] = "";
  const char *unit = "";
  int len;

  if (block_size % (1024 * 1024) == 0)
    block_size /= 1024 * 1024, unit = "m";
  else if (block_size % 1024 == 0)
    block_size /= 1024, unit = "k";
  if (streams > 0)
    snprintf (construction, sizeof construction, "/s%u", streams);
  else if (blkhash_opts_get_linear (opts))
    strcpy (construction, "/linear");
  len = snprintf (tag, size, "blk-%s/%u%s%s",
                  blkhash_opts_get_digest_name (opts), block_size, unit,
                  construction);
  return len < size ? 0 : ERANGE;
}

static bool
has_tag (const struct blkhash_opts *opts, const char *text)
{
  char tag[BLKHASH_MAX_TAG_SIZE];

  return blkhash_opts_get_tag (opts, tag, sizeof tag) == 0 &&
    strcmp (tag, text) == 0;
}

struct blkhash_opts *
blkhash_opts_from_tag (const char *tag)
{
  struct blkhash_opts *defaults, *opts;
  struct hash_spec spec;

  errno = EINVAL;
  if (!tag || strncmp (tag, "blk-", strlen ("blk-")) != 0 ||
      hash_spec_parse (tag + strlen ("blk-"), &spec) != 0 ||
      !hash_spec_is_complete (&spec))
    return NULL;
  defaults = blkhash_opts_new (spec.digest);
  if (!defaults)
    return NULL;
  opts = hash_spec_opts (&spec, defaults);
  blkhash_opts_free (defaults);
  if (opts && has_tag (opts, tag))
    return opts;
  if (opts || errno != ENOMEM)
    errno = EINVAL;
  blkhash_opts_free (opts);
  return NULL;
}
