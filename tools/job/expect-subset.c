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
#include "cli/options.h"
#include "cli/report.h"
#include "cli/usage.h"
#include "cli/verdict.h"
#include "job/compare.h"
#include "job/expect-subset.h"
#include "source/open.h"
#include "sums/line.h"
#include "util/error.h"

/* Both are to have one size, and all differences are wanted, so that the
 * manifest is read to its end.
 */
static int
compare (const struct options *options, const char *manifest,
         const char *image, struct difference *difference,
         const char **operand, struct error *error)
{
  char *operands[] = { (char *) manifest, (char *) image, NULL };
  struct options its_options = *options;

  its_options.operands = operands;
  its_options.nr_operands = 2;
  its_options.strict = true;
  its_options.check_report = CHECK_ALL;
  *difference = (struct difference) { .silent = true };
  return job_compare (&its_options, difference, operand, error);
}

void
expect_subset_verdict (const struct options *options,
                       const struct difference *difference,
                       char *text, size_t room)
{
  const struct subset *subset = &options->subset;
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
conclude (const struct options *options, const char *name,
          const struct difference *difference)
{
  char verdict[128];
  int err;

  if (options->check_report != CHECK_QUIET) {
    expect_subset_verdict (options, difference, verdict, sizeof verdict);
    err = verdict_print (name, verdict);
    if (difference->differ)
      say_difference (name, difference);
    if (err)
      report_write_failed (err);
  }
  return difference->differ ? EXIT_DIFFERS : EXIT_SUCCESS;
}

int
job_expect_subset (const struct options *options)
{
  const char *name = options->operands[0], *operand;
  struct difference difference;
  struct error error = { "" };
  int status;

  if (compare (options, options->expect, name, &difference, &operand,
               &error) == -1) {
    report (operand, &error);
    return EXIT_TROUBLE;
  }
  status = conclude (options, name, &difference);
  difference_destroy (&difference);
  return status;
}

/* ---- --check ---- */

/* Does the manifest have the sum of LINE? */
static int
check_sum (const struct options *options, const struct sums_line *line,
           const struct difference *difference, struct error *error)
{
  char tag[BLKHASH_MAX_TAG_SIZE], *wanted = NULL;
  int r = 0;

  blkhash_opts_get_tag (options->hash, tag, sizeof tag);
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
expect_subset_line (const struct options *options,
                    const struct sums_line *line,
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
  r = compare (options, manifest, line->name, difference, &operand,
               &its_error);
  if (r == -1 && operand == manifest)
    error_about (error, manifest, "%s", its_error.text);
  else if (r == -1)
    *error = its_error;
  else if ((r = check_sum (options, line, difference, error)) == -1)
    difference_destroy (difference);
  free (manifest);
  return r;
}
