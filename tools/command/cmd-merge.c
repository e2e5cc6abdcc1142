/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blkhash merge: the sum of an image from the manifests of its parts.
 */

#include <config.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/input-options.h"
#include "cli/program.h"
#include "command/commands.h"
#include "job/job.h"
#include "util/error.h"

static const struct option_row rows[] = {
  { 0, "manifest", "FILE",
    "write the manifest of the image; - is stdout",
    OPTION_FIELD (struct input_options, hash.manifest) },
  OUTPUT_ROW,
  PROGRESS_ROW,
  { .name = NULL },
};

static const struct option_group groups[] = {
  { NULL, rows },
  { "", standard_rows },
  { NULL, NULL },
};

/* The sum is printed under the name of the manifest, manifest:NAME.  If there
 * is none, the line has no name, and an object of JSON that of the first
 * operand.
 */
static int
run (void *opaque, int count, char *paths[])
{
  const struct input_options *options = opaque;
  const struct merge_request request = {
    .hash = options->hash,
    .paths = paths,
    .count = count,
  };
  const char *manifest = options->hash.manifest, *operand;
  struct output_options output = options->output;
  struct error error = { "" };
  char *name = NULL;
  struct sum sum;
  enum job_status r;
  int status;

  output.no_names = !manifest && output.form != OUTPUT_JSON;
  if (manifest && asprintf (&name, "manifest:%s", manifest) == -1)
    usage_failed ("--manifest");
  r = job_merge (&request, &sum, &operand, &error);
  status = output_outcome (&output, &request.hash, name ? name : paths[0], &sum,
                           r, operand, &error);
  free (name);
  return status;
}

const struct command cmd_merge = {
  .name = "merge",
  .summary = "print the sum of an image from its parts",
  .usage =
  "Usage: blkhash merge [OPTION]... DIR|PART...\n"
  "Print the sum of an image from its parts, if they are all of it.\n",
  .groups = groups,
  .options_size = sizeof (struct input_options),
  .min_operands = 1, .max_operands = INT_MAX,
  .operands = "the directory of the parts is missing",
  .run = run,
};
