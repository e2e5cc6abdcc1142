/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blkhash update: hash what has changed in an image since its manifest was
 * made.
 */

#include <config.h>

#include <stdlib.h>

#include "../lib/common/strata.h"
#include "cli/input-options.h"
#include "cli/program.h"
#include "command/commands.h"
#include "job/job.h"
#include "job/manifest-operand.h"
#include "util/error.h"

struct update_options {
  struct input_options input;
  struct update_request update; /* its hash is not set */
};

static void
add_changed (void *options, const struct option_use *use)
{
  struct update_request *update = &((struct update_options *) options)->update;

  input_append (&update->changed, &update->nr_changed, use);
}

#define FIELD(name) OPTION_FIELD (struct update_options, name)

static const struct option_row rows[] = {
  { 0, "changed", "RANGES",
    "list of blkhash compare or nbdinfo --json; can be\ngiven several times",
    .set = add_changed, .repeats = true },
  { 0, "bitmap", "NAME", "or: dirty bitmap of the NBD server",
    FIELD (input.hash.source.bitmap) },
  { 0, "manifest", "NEW", "manifest to write, can be OLD; - is stdout",
    FIELD (input.hash.manifest) },
  { 0, "audit", "N%", "share of other blocks to verify; default 0.1%",
    .is_share = true, FIELD (update.audit) },
  OUTPUT_ROW,
  { .name = NULL },
};

static const struct option_group groups[] = {
  { NULL, rows },
  INPUT_GROUPS,
};

static void
check_usage (const struct update_options *options)
{
  const char *bitmap = options->input.hash.source.bitmap;

  if (options->update.nr_changed == 0 && !bitmap)
    usage_error ("--changed RANGES or --bitmap NAME is missing");
  if (options->update.nr_changed > 0 && bitmap)
    usage_error ("--changed cannot be used with --bitmap");
  if (bitmap && !*bitmap)
    usage_error ("--bitmap: the name is empty");
  if (!options->input.hash.manifest)
    usage_error ("--manifest NEW is missing");
}

static int
run (void *opaque, int nr_operands, char *operands[])
{
  const struct update_options *options = opaque;
  const char *image = operands[1];
  struct update_request request = options->update;
  struct error error = { "" };
  struct sum sum;
  enum job_status r;

  (void) nr_operands;
  check_usage (options);
  request.hash = options->input.hash;
  request.hash.operand = image;
  request.old = job_manifest_file (operands[0]);
  r = job_update (&request, &sum, &error);
  free (request.changed);
  return output_outcome (&options->input.output, &request.hash, image, &sum, r,
                         image, &error);
}

const struct command cmd_update = {
  .name = "update",
  .summary = "hash what has changed since a manifest was made",
  .usage =
  "Usage: blkhash update --changed RANGES --manifest NEW [OPTION]... OLD "
  "IMAGE\n"
  "       blkhash update --bitmap NAME --manifest NEW [OPTION]... OLD URI\n"
  "Hash what has changed in an image since its manifest OLD was made.\n",
  .groups = groups,
  .options_size = sizeof (struct update_options),
  .defaults = &(const struct update_options) { .update.audit = STRATA_DEFAULT },
  .min_operands = 2, .max_operands = 2,
  .operands = "the operands are the manifest OLD and the image",
  .run = run,
};
