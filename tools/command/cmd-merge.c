/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blkhash merge: the sum of an image from the manifests of its parts.
 */

#include <config.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "blkhash.h"

#include "cli/input-options.h"
#include "cli/output.h"
#include "cli/program.h"
#include "cli/usage.h"
#include "command/commands.h"
#include "job/job.h"
#include "job/manifest-file.h"
#include "util/error.h"
#include "util/request.h"
#include "util/result.h"

struct merge_options {
  struct input_options input;
  struct output_options output;
};

#define FIELD(name) OPTION_FIELD (struct merge_options, name)

static const struct option_row rows[] = {
  { 0, "manifest", "FILE",
    "write the manifest of the image; - is stdout",
    FIELD (input.hash.manifest) },
  { 0, "output", "FORM", "human or json", .words = "human json",
    FIELD (output.form) },
  PROGRESS_ROW,
  { .name = NULL },
};

static const struct option_group groups[] = {
  { NULL, rows },
  { "", standard_rows },
  { NULL, NULL },
};

/* Print the sum of an image under the name of its manifest, manifest:NAME. */
static void
print (const struct merge_options *options, const struct sum *sum)
{
  char *operand;
  int err = ENOMEM;

  if (asprintf (&operand, "manifest:%s", options->input.hash.manifest) != -1) {
    err = output_sum (&options->output, operand, sum->hash, sum);
    free (operand);
  }
  if (err)
    report_write_failed (err);
}

static int
run (void *opaque, int count, char *paths[])
{
  const struct merge_options *options = opaque;
  const struct merge_request request = {
    .hash = options->input.hash,
    .paths = paths,
    .count = count,
  };
  struct error error = { "" };
  const char *operand;
  struct sum sum;

  if (!request.hash.manifest)
    usage_error ("--manifest FILE is missing");
  if (job_merge (&request, &sum, &operand, &error) == -1) {
    output_failure (&options->output, operand, &error, EXIT_TROUBLE);
    return EXIT_TROUBLE;
  }
  if (!manifest_file_is_stdout (request.hash.manifest))
    print (options, &sum);
  blkhash_opts_free (sum.hash);
  return EXIT_SUCCESS;
}

static void
set_defaults (void *options)
{
  ((struct merge_options *) options)->output.tag = true;
}

const struct command cmd_merge = {
  .name = "merge",
  .summary = "print the sum of an image from its parts",
  .usage =
  "Usage: blkhash merge [OPTION]... PART...\n"
  "Print the sum of an image from its parts, if they are all of it.\n",
  .groups = groups,
  .options_size = sizeof (struct merge_options),
  .set_defaults = set_defaults,
  .min_operands = 1, .max_operands = INT_MAX,
  .operands = "the manifests of the parts are missing",
  .run = run,
};
