/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: is a subset of an image what its manifest says?
 *
 * Of a subset there is no sum that could be compared, so its leaves are.  The
 * manifest is read whole: its sum tells whether it is the one that is meant.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "blkhash.h"

#include "cli/difference.h"
#include "cli/report.h"
#include "cli/usage.h"
#include "cli/verdict.h"
#include "job/compare.h"
#include "job/expect-subset.h"
#include "source/open.h"
#include "sums/line.h"
#include "util/error.h"
#include "util/request.h"

/* Both are to have one size, and all differences are wanted, so that the
 * manifest is read to its end.
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

  *difference = (struct difference) { .print_as = NULL };
  return job_compare (&request, difference, operand, error);
}

void
expect_subset_verdict (const struct subset *subset,
                       const struct difference *difference,
                       char *text, size_t room)
{
  uint64_t size = difference->size[1];
  char part[64];

  subset_describe (subset, size, part, sizeof part);
  snprintf (text, room, "%s (subset %" PRIu32 "/%" PRIu32 ": %s)",
            difference->differ ? "FAILED"
            : size > 0 && subset_bytes (subset, size) == 0 ? "not checked"
            : "OK", subset->k, subset->n, part);
}

/* ---- --expect ---- */

static void
say_difference (const char *name, const struct difference *difference)
{
  struct error error = { "" };

  if (difference->size[0] != difference->size[1])
    error_set (&error, "has %" PRIu64 " bytes, and the image of the manifest "
               "%" PRIu64, difference->size[1], difference->size[0]);
  else
    error_set (&error, "differs in the block at %" PRIu64 "; --compare tells "
               "where else", difference->first);
  report (name, &error);
}

static int
conclude (const struct expect_request *request,
          const struct difference *difference)
{
  char verdict[128];
  int err;

  if (!request->quiet) {
    expect_subset_verdict (&request->subset, difference, verdict,
                           sizeof verdict);
    err = verdict_print (request->operand, verdict);
    if (difference->differ)
      say_difference (request->operand, difference);
    if (err)
      report_write_failed (err);
  }
  return difference->differ ? EXIT_DIFFERS : EXIT_SUCCESS;
}

int
job_expect_subset (const struct expect_request *request)
{
  const char *operand;
  struct difference difference;
  struct error error = { "" };
  int status;

  if (compare (&request->hash, &request->subset, request->expected,
               request->operand, &difference, &operand, &error) == -1) {
    report (operand, &error);
    return EXIT_TROUBLE;
  }
  status = conclude (request, &difference);
  difference_destroy (&difference);
  return status;
}

/* ---- --check ---- */

/* Does the manifest have the sum of LINE? */
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
                    struct difference *difference, struct error *error)
{
  struct error its_error = { "" };
  const char *operand;
  char *manifest;
  int r;

  if (strcmp (line->name, "-") == 0 || source_is_uri (line->name))
    return error_set (error, "has no manifest beside it, which --subset needs");
  if (asprintf (&manifest, "manifest:%s.blkm", line->name) == -1)
    return error_errno (error, ENOMEM, "cannot check");
  r = compare (hash, subset, manifest, line->name, difference, &operand,
               &its_error);
  if (r == -1 && operand == manifest)
    error_about (error, manifest, "%s", its_error.text);
  else if (r == -1)
    *error = its_error;
  else if ((r = check_sum (hash->opts, line, difference, error)) == -1)
    difference_destroy (difference);
  free (manifest);
  return r;
}
