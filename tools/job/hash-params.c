/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a manifest has the digest, block size and construction of the
 * request.
 */

#include <config.h>

#include "blkhash.h"

#include "job/hash-params.h"
#include "util/error.h"
#include "util/request.h"

int
hash_params_check (const struct hash_request *request,
                   const struct blkhash_opts *opts, struct error *error)
{
  char asked[BLKHASH_MAX_TAG_SIZE], tag[BLKHASH_MAX_TAG_SIZE];

  if (!hash_request_is_fixed (request) ||
      blkhash_opts_same_hash (request->opts, opts))
    return 0;
  blkhash_opts_get_tag (request->opts, asked, sizeof asked);
  blkhash_opts_get_tag (opts, tag, sizeof tag);
  return error_set (error, "it is a manifest of %s, not of %s", tag, asked);
}
