/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: verify a subset of an image against its manifest.
 *
 * A subset has no sum, so its leaves are compared.  The manifest is read whole,
 * because its sum identifies it.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "blkhash.h"

#include "../lib/common/sums-line.h"
#include "job/expect-subset.h"
#include "job/job.h"
#include "source/open.h"
#include "util/error.h"
#include "util/request.h"
#include "util/result.h"

/* Compare the image with the manifest.  Different sizes are a difference.  The
 * comparison does not stop at the first difference, so that the manifest is
 * read to its end.
 */
static int
compare (const struct hash_request *hash, const struct subset *subset,
         const char *manifest, const char *image,
         struct difference *difference, const char **operand,
         struct error *error)
{
  const struct compare_request request = {
    .hash = *hash,
    .operands = { manifest, image },
    .size = SOURCE_WHOLE,
    .subset = *subset,
    .same_size = true,
  };

  return job_compare (&request, difference, operand, error);
}

/* Set the verdict, which contains the number of compared bytes. */
static void
set_verdict (char *verdict, const struct subset *subset,
             const struct difference *difference)
{
  uint64_t size = difference->size[1];
  char part[64];

  subset_describe (subset, size, part, sizeof part);
  snprintf (verdict, VERDICT_SIZE, "%s (subset %" PRIu32 "/%" PRIu32 ": %s)",
            difference->differ ? "FAILED"
            : size > 0 && subset_bytes (subset, size) == 0 ? "not checked"
            : "OK", subset->k, subset->n, part);
}

/* ---- --expect ---- */

static void
describe_mismatch (const struct difference *difference, struct error *error)
{
  if (difference->size[0] != difference->size[1])
    error_set (error, "has %" PRIu64 " bytes, but the image of the manifest "
               "has %" PRIu64, difference->size[1], difference->size[0]);
  else
    error_set (error, "differs in the block at %" PRIu64 "; --compare prints "
               "all differences", difference->first);
}

int
job_expect_subset (const struct expect_request *request,
                   struct expect_result *result, const char **operand,
                   struct error *error)
{
  struct difference difference;

  if (compare (&request->hash, &request->subset, request->expected,
               request->hash.operand, &difference, operand, error) == -1)
    return -1;
  result->same = !difference.differ;
  result->first = difference.first_bytes[1];
  set_verdict (result->verdict, &request->subset, &difference);
  if (difference.differ)
    describe_mismatch (&difference, &result->why);
  free (difference.manifest_sum);
  return 0;
}

/* ---- --check ---- */

/* Check that the manifest has the sum of LINE. */
static int
check_sum (const struct blkhash_opts *opts, const struct sums_line *line,
           const struct difference *difference, struct error *error)
{
  char tag[BLKHASH_MAX_TAG_SIZE], *wanted = NULL;
  int r = 0;

  blkhash_opts_get_tag (opts, tag, sizeof tag);
  if (!difference->manifest_sum ||
      asprintf (&wanted, "%s = %s", tag, line->hex) == -1)
    r = error_errno (error, ENOMEM, "cannot check");
  else if (strcasecmp (wanted, difference->manifest_sum) != 0)
    r = error_set (error, "%s.blkm is the manifest of another image, with %s",
                   line->name, difference->manifest_sum);
  free (wanted);
  return r;
}

int
expect_subset_line (const struct hash_request *hash,
                    const struct subset *subset, const struct sums_line *line,
                    char *verdict, struct first_bytes *first,
                    struct error *error)
{
  struct difference difference = { .manifest_sum = NULL };
  struct error reason = { "" };
  const char *operand;
  char *manifest;
  int r;

  if (strcmp (line->name, "-") == 0 || source_is_uri (line->name))
    return error_set (error, "--subset needs a manifest beside the image");
  if (asprintf (&manifest, "manifest:%s.blkm", line->name) == -1)
    return error_errno (error, ENOMEM, "cannot check");
  r = compare (hash, subset, manifest, line->name, &difference, &operand,
               &reason);
  if (r == -1 && operand == manifest)
    error_about (error, manifest, "%s", reason.text);
  else if (r == -1)
    *error = reason;
  else
    r = check_sum (hash->opts, line, &difference, error);
  if (r == 0) {
    set_verdict (verdict, subset, &difference);
    *first = difference.first_bytes[1];
    r = !difference.differ;
  }
  free (difference.manifest_sum);
  free (manifest);
  return r;
}
