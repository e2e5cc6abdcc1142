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

/* Returns the exit status. */
static int
hash_part (const struct parts_options *options, const char *image,
           const char *dir)
{
  struct part_request request = {
    .hash = options->input.hash,
    .part = options->input.part,
    .dir = dir,
  };
  struct error error = { "" };

  request.hash.operand = image;
  if (job_part (&request, &error) == 0)
    return EXIT_SUCCESS;
  report (image, &error);
  return EXIT_TROUBLE;
}

static int
run (int argc, char *argv[])
{
  struct parts_options options;
  int first, status;

  input_init (&options.input);
  first = input_parse (&cmd_parts, &options.input, argc, argv);
  if (options.input.part.n == 0)
    usage_error ("--part I/N is missing");
  if (argc - first != 2)
    usage_error ("the operands are the image and the directory of the parts");
  status = hash_part (&options, argv[first], argv[first + 1]);
  input_free (&options.input);
  return status;
}

const struct command cmd_parts = {
  .name = "parts",
  .summary = "hash an image in parts, in several runs or on several hosts",
  .usage =
  "Usage: blkhash parts [OPTION]... IMAGE DIR\n"
  "Hash the parts of an image that are missing in DIR.\n",
  .groups = groups,
  .run = run,
};
