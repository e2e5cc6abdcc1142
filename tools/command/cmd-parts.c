/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blkhash parts: hash an image in parts.
 */

#include <config.h>

#include <stdlib.h>

#include "../lib/common/strata.h"
#include "cli/input-options.h"
#include "cli/program.h"
#include "command/commands.h"
#include "job/job.h"
#include "util/error.h"

struct parts_options {
  struct input_options input;
  struct parts_request parts;   /* only STATE and AUDIT are set */
};

#define FIELD(name) OPTION_FIELD (struct parts_options, name)

static const struct option_row rows[] = {
  DIGEST_ROW ("DIGEST[/SIZE[/sN|/linear]]; default sha256/64k"),
  PART_ROW ("only part I of N, counted from 0; no merge"),
  { 0, "state", "NAME",
    "name of the snapshot, if IMAGE is a device or URI", FIELD (parts.state) },
  { 0, "audit", "N%", "share of earlier parts to verify; default 0.1%",
    .is_share = true, FIELD (parts.audit) },
  { 0, "manifest", "FILE", "manifest to write when all parts exist",
    FIELD (input.hash.manifest) },
  OUTPUT_ROW,
  { .name = NULL },
};

static const struct option_group groups[] = {
  { NULL, rows },
  INPUT_GROUPS,
};

static int
run (void *opaque, int nr_operands, char *operands[])
{
  const struct parts_options *options = opaque;
  struct parts_request request = options->parts;
  const char *image = operands[0], *operand;
  struct error error = { "" };
  struct sum sum;
  enum job_status r;

  (void) nr_operands;
  request.hash = options->input.hash;
  request.hash.operand = image;
  request.part = options->input.part;
  request.dir = operands[1];
  if (request.part.n > 0 && request.hash.manifest)
    usage_error ("--manifest cannot be used with --part");
  r = job_parts (&request, &sum, &operand, &error);
  if (r == JOB_DONE && request.part.n > 0)
    return EXIT_SUCCESS;
  return output_outcome (&options->input.output, &request.hash, image, &sum, r,
                         operand, &error);
}

const struct command cmd_parts = {
  .name = "parts",
  .summary = "hash an image in parts, in several runs or on several hosts",
  .usage =
  "Usage: blkhash parts [OPTION]... IMAGE DIR\n"
  "Hash the parts of an image that are missing in DIR, then merge all.  Run\n"
  "it again after an interruption; give each of several hosts its --part.\n",
  .groups = groups,
  .options_size = sizeof (struct parts_options),
  .defaults = &(const struct parts_options) { .parts.audit = STRATA_DEFAULT },
  .min_operands = 2, .max_operands = 2,
  .operands = "the operands are the image and the directory of its parts",
  .run = run,
};
