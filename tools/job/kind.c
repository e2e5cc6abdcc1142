/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How a manifest says that sums are made.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "blkhash.h"

#include "../lib/common/sum-tag.h"
#include "cli/options.h"
#include "job/kind.h"
#include "util/error.h"

bool
kind_is_same (const struct blkhash_opts *a, const struct blkhash_opts *b)
{
  return strcmp (blkhash_opts_get_digest_name (a),
                 blkhash_opts_get_digest_name (b)) == 0 &&
    blkhash_opts_get_block_size (a) == blkhash_opts_get_block_size (b) &&
    blkhash_opts_get_streams (a) == blkhash_opts_get_streams (b) &&
    !blkhash_opts_get_linear (a) == !blkhash_opts_get_linear (b);
}

int
kind_check (const struct options *options, const struct blkhash_opts *opts,
            struct error *error)
{
  char *asked, *tag;
  int r;

  if (!options_hash_is_chosen (options) || kind_is_same (options->hash, opts))
    return 0;
  asked = sum_tag (options->hash);
  tag = sum_tag (opts);
  if (asked && tag)
    r = error_set (error, "it is a manifest of %s, not of %s", tag, asked);
  else
    r = error_errno (error, ENOMEM, "cannot read the manifest");
  free (asked);
  free (tag);
  return r;
}

struct blkhash_opts *
kind_copy (const struct blkhash_opts *opts)
{
  struct blkhash_opts *copy =
    blkhash_opts_new (blkhash_opts_get_digest_name (opts));

  if (!copy)
    return NULL;
  blkhash_opts_set_block_size (copy, blkhash_opts_get_block_size (opts));
  blkhash_opts_set_streams (copy, blkhash_opts_get_streams (opts));
  if (blkhash_opts_get_linear (opts))
    blkhash_opts_set_linear (copy, 1);
  return copy;
}
