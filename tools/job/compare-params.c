/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Select the digest and block size of a comparison.
 */

#include <config.h>

#include <errno.h>
#include <string.h>

#include "blkhash-manifest.h"

#include "job/compare-input.h"
#include "job/compare-params.h"
#include "job/manifest.h"
#include "util/error.h"
#include "util/request.h"

static const struct blkhash_opts *
manifest_opts (const struct compare_input *input)
{
  return input->reader ? blkhash_manifest_reader_opts (input->reader) : NULL;
}

/* Returns true if leaves of A and B can be compared: they have the same digest
 * and block size.  The construction does not matter.
 */
static bool
are_comparable (const struct blkhash_opts *a, const struct blkhash_opts *b)
{
  return blkhash_opts_get_block_size (a) == blkhash_opts_get_block_size (b) &&
    strcmp (blkhash_opts_get_digest_name (a),
            blkhash_opts_get_digest_name (b)) == 0;
}

static int
refuse_params (const struct blkhash_opts *a, const struct blkhash_opts *b,
               struct error *error)
{
  char tag_a[BLKHASH_MAX_TAG_SIZE], tag_b[BLKHASH_MAX_TAG_SIZE];

  blkhash_opts_get_tag (a, tag_a, sizeof tag_a);
  blkhash_opts_get_tag (b, tag_b, sizeof tag_b);
  return error_set (error, "it is a manifest of %s, which cannot be compared "
                    "with %s", tag_a, tag_b);
}

/* Check that OPTS, those of a manifest, have the digest and the block size that
 * the user chose, if any.
 */
static int
check_fixed (const struct hash_request *request,
             const struct blkhash_opts *opts, struct error *error)
{
  struct blkhash_opts *fixed = job_manifest_fixed_params (request, opts);
  int r = !fixed ? error_errno (error, errno, "cannot compare")
    : are_comparable (opts, fixed) ? 0 : refuse_params (opts, fixed, error);

  blkhash_opts_free (fixed);
  return r;
}

/* Refuse a digest of length zero, such as "null": all its leaves are equal. */
static int
check_length (const struct blkhash_opts *opts, struct error *error)
{
  if (blkhash_opts_get_digest_size (opts) == 0)
    return error_set (error, "cannot be compared by a digest whose length is "
                      "zero");
  return 0;
}

/* Returns options with DIGEST and the block size of OPTS; or OPTS if DIGEST is
 * not available.
 */
static const struct blkhash_opts *
new_opts (struct compare_params *params, const struct blkhash_opts *opts,
          const char *digest)
{
  params->owned = blkhash_opts_new (digest);
  if (!params->owned ||
      blkhash_opts_set_block_size (params->owned,
                                   blkhash_opts_get_block_size (opts)) != 0)
    return opts;
  return params->owned;
}

/* The digests of two images are not printed, so the fastest suitable digest is
 * used.  If BOTH has a source, the bytes of the images are compared, not their
 * leaves, so any digest is suitable.  Otherwise, unless the user chose a
 * digest, it must be as hard to forge as the default.  On the measured CPU,
 * which has no instructions for SHA-256, blake3 takes two thirds of the time of
 * SHA-256.
 */
static const struct blkhash_opts *
images_opts (struct compare_params *params, const struct hash_request *request,
             const struct compare_input *both)
{
  if (both->source)
    return new_opts (params, request->opts, "xxh3-128");
  return request->digest_fixed ? request->opts
                               : new_opts (params, request->opts, "blake3");
}

int
compare_params_choose (struct compare_params *params,
                       const struct compare_input *inputs,
                       const struct compare_input *both, unsigned *failed,
                       struct error *error)
{
  const struct hash_request *request = &inputs[0].request->hash;
  unsigned i;

  *params = (struct compare_params) { 0 };
  *failed = 0;
  if (request->digest_fixed && check_length (request->opts, error) == -1)
    return -1;
  if (!manifest_opts (&inputs[0]) && !manifest_opts (&inputs[1]))
    params->opts = images_opts (params, request, both);
  for (i = 0; i < 2; i++) {
    const struct blkhash_opts *opts = manifest_opts (&inputs[i]);

    *failed = i;
    if (!opts)
      continue;
    if (check_fixed (request, opts, error) == -1)
      return -1;
    if (params->opts && !are_comparable (opts, params->opts))
      return refuse_params (opts, params->opts, error);
    params->opts = opts;
  }
  return check_length (params->opts, error);
}

void
compare_params_free (struct compare_params *params)
{
  blkhash_opts_free (params->owned);
}
