/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How a sum is made, as text.
 *
 * What is parsed is printed again and compared, so that there is one spelling:
 * no alias of a digest, no "1024k" for "1m", no leading zero.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"
#include "common/sum-kind.h"
#include "common/sum-tag.h"

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
  struct blkhash_opts *defaults, *opts;
  struct sum_kind kind;

  errno = EINVAL;
  if (strncmp (text, "blk-", strlen ("blk-")) != 0 ||
      sum_kind_parse (text + strlen ("blk-"), &kind) != 0 ||
      !sum_kind_is_complete (&kind))
    return NULL;
  defaults = blkhash_opts_new (kind.digest);
  if (!defaults)
    return NULL;
  opts = sum_kind_opts (&kind, defaults);
  blkhash_opts_free (defaults);
  if (!opts && errno != ENOMEM)
    errno = EINVAL;
  if (!opts || is_spelled (opts, text))
    return opts;
  blkhash_opts_free (opts);
  return NULL;
}
