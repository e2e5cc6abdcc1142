/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blkhash parts: hash an image in parts.
 */

#include <config.h>

#include <stdlib.h>

#include "cli/input-options.h"
#include "cli/program.h"
#include "cli/usage.h"
#include "command/commands.h"
#include "job/job.h"
#include "util/error.h"
#include "util/request.h"

struct parts_options {
  struct input_options input;
};

static const struct option_row rows[] = {
  DIGEST_ROW ("DIGEST[/SIZE[/sN|/linear]]; default sha256/64k"),
  PART_ROW ("only part I of N, counted from 0; no merge"),
  { .name = NULL },
};

static const struct option_group groups[] = {
  { NULL, rows },
  { "Input", format_rows },
  { NULL, input_rows },
  { "", standard_rows },
  { NULL, NULL },
};

static int
run (void *opaque, int nr_operands, char *operands[])
{
  const struct parts_options *options = opaque;
  struct part_request request = {
    .hash = options->input.hash,
    .part = options->input.part,
    .dir = operands[1],
  };
  struct error error = { "" };

  (void) nr_operands;
  if (options->input.part.n == 0)
    usage_error ("--part I/N is missing");
  request.hash.operand = operands[0];
  if (job_part (&request, &error) == 0)
    return EXIT_SUCCESS;
  report (operands[0], &error);
  return EXIT_TROUBLE;
}

const struct command cmd_parts = {
  .name = "parts",
  .summary = "hash an image in parts, in several runs or on several hosts",
  .usage =
  "Usage: blkhash parts [OPTION]... IMAGE DIR\n"
  "Hash the parts of an image that are missing in DIR.\n",
  .groups = groups,
  .options_size = sizeof (struct parts_options),
  .min_operands = 2, .max_operands = 2,
  .operands = "the operands are the image and the directory of its parts",
  .run = run,
};
