/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blkhash repair: replace the blocks of a disk that differ from its manifest.
 *
 * Each range is printed when the repair of its blocks has succeeded or failed,
 * so that memory use here does not depend on the number of ranges.  If the
 * whole repair fails, the JSON is not terminated.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/strata.h"
#include "../lib/common/text.h"
#include "cli/input-options.h"
#include "cli/program.h"
#include "cli/progress-bar.h"
#include "command/commands.h"
#include "job/job.h"
#include "job/manifest-operand.h"
#include "repair/repair.h"
#include "util/error.h"

struct repair_options {
  struct input_options input;
  struct repair_request repair; /* its hash is not set */
};

static void
add_source (void *options, const struct option_use *use)
{
  struct repair_request *repair = &((struct repair_options *) options)->repair;

  input_append (&repair->sources, &repair->nr_sources, use);
}

#define FIELD(name) OPTION_FIELD (struct repair_options, name)

static const struct option_row rows[] = {
  { 0, "manifest", "FILE", "manifest of DISK when it was right",
    FIELD (repair.manifest) },
  { 0, "sum", "SUM", "sum that the manifest must have; none: trust it",
    FIELD (repair.expected_sum) },
  { 0, "from", "SRC", "an image; can be given several times",
    .set = add_source, .repeats = true },
  { 0, "limit", "N%", "most blocks that may differ; default 1%",
    .is_share = true, FIELD (repair.limit) },
  { 0, "dry-run", NULL, "write nothing",
    FIELD (repair.dry_run), .value = true },
  OUTPUT_ROW,
  { .name = NULL },
};

static const struct option_group groups[] = {
  { NULL, rows },
  INPUT_GROUPS,
};

struct repair_output {
  const char *disk;
  unsigned form;
  bool begun;                   /* the start of the JSON was printed */
  int error;                    /* the errno value with which stdout could not
                                 * be written, or 0 */
};

/* Returns true if all blocks are good now. */
static bool
is_repaired (const struct repair_result *result)
{
  return result->blocks[REPAIR_POSSIBLE] == 0 &&
    result->blocks[REPAIR_IMPOSSIBLE] == 0 &&
    result->blocks[REPAIR_UNALIGNED] == 0 &&
    result->blocks[REPAIR_FAILED] == 0;
}

/* How the state of blocks is counted, and the detail of a range. */
static const struct {
  const char *word, *detail;
} states[REPAIR_STATES] = {
  [REPAIR_DONE] = { "repaired", NULL },
  [REPAIR_POSSIBLE] = { "repairable", "a source has them" },
  [REPAIR_IMPOSSIBLE] = { "without a source", "no source has them" },
  [REPAIR_UNALIGNED] = { "unaligned", "they cannot be written directly: they "
                         "are not whole units of direct I/O" },
  [REPAIR_FAILED] = { "failed", "they were written, and are still bad: the "
                      "storage is failing" },
};

static void
begin_json (struct repair_output *output)
{
  fputs ("{\"name\":", stdout);
  json_string (stdout, output->disk);
  fputs (",\"ranges\":[", stdout);
  output->begun = true;
}

static void
end_json (struct repair_output *output, const struct repair_result *result)
{
  if (!output->begun)
    begin_json (output);
  putchar (']');
  output_result (is_repaired (result) ? EXIT_SUCCESS : EXIT_DIFFERS);
  putchar ('\n');
  program_flush ();
}

/* Room for the largest number with the longest word, for each state. */
#define LINE_SIZE \
  (sizeof "FAILED ()" + \
   REPAIR_STATES * sizeof ", 18446744073709551615 blocks without a source")

/* Print a line such as "FAILED (2 blocks repaired, 1 without a source)". */
static void
print_line (const struct repair_output *output,
            const struct repair_result *result)
{
  char text[LINE_SIZE];
  int len = sprintf (text, is_repaired (result) ? "OK" : "FAILED");
  bool first = true;

  for (unsigned i = 0; i < REPAIR_STATES; i++) {
    uint64_t count = result->blocks[i];

    if (count > 0)
      len += sprintf (text + len, "%s%" PRIu64 "%s %s", first ? " (" : ", ",
                      count, !first ? "" : count == 1 ? " block" : " blocks",
                      states[i].word);
    first &= count == 0;
  }
  strcpy (text + len, first ? "" : ")");
  output_line (output->disk, text);
}

/* Print RANGE in JSON; or, without JSON, report RANGE as an error on stderr if
 * its blocks stay bad.  The found function of a struct repair_request.
 */
static int
print_range (void *opaque, const struct repair_range *range)
{
  const char *detail = states[range->state].detail;
  struct repair_output *output = opaque;
  struct error error = { "" };
  bool first = !output->begun;

  progress_hide ();
  errno = 0;
  if (output->form == OUTPUT_JSON) {
    if (first)
      begin_json (output);
    output_range (first, range->start, range->length,
                  range->state == REPAIR_DONE ? "repaired" : "differs", detail);
  }
  else if (range->state != REPAIR_DONE && range->state != REPAIR_POSSIBLE) {
    error_set (&error, "%" PRIu64 " bytes at %" PRIu64 " differ; %s",
               range->length, range->start, detail);
    report (output->disk, &error);
  }
  output->error = ferror (stdout) ? errno ? errno : EIO : 0;
  progress_show ();
  return output->error;
}

/* ---- The command ---- */

static void
check_usage (const struct repair_request *repair)
{
  if (!repair->manifest)
    usage_error ("--manifest FILE is missing");
  if (!repair->expected_sum)
    usage_error ("--sum SUM is missing: it proves the manifest, which decides "
                 "what is written; or --sum none, to trust it");
  if (repair->nr_sources == 0)
    usage_error ("--from SRC is missing");
}

static int
run (void *opaque, int nr_operands, char *operands[])
{
  const struct repair_options *options = opaque;
  const char *disk = operands[0];
  struct repair_output output = {
    .disk = disk, .form = options->input.output.form
  };
  struct repair_request request = options->repair;
  struct repair_result result;
  struct error error = { "" };
  const char *operand;
  int r;

  (void) nr_operands;
  check_usage (&request);
  request.hash = options->input.hash;
  request.hash.operand = disk;
  request.found = print_range;
  request.opaque = &output;
  request.manifest = job_manifest_file (request.manifest);
  r = job_repair (&request, &result, &operand, &error);
  free (request.sources);
  if (r == -1) {
    if (output.error)
      report_write_failed (output.error);
    if (output.begun)
      report (operand, &error);
    else
      output_failure (&options->input.output, disk, operand, &error,
                      EXIT_TROUBLE);
    return EXIT_TROUBLE;
  }
  errno = 0;
  if (output.form == OUTPUT_JSON)
    end_json (&output, &result);
  else
    print_line (&output, &result);
  return is_repaired (&result) ? EXIT_SUCCESS : EXIT_DIFFERS;
}

const struct command cmd_repair = {
  .name = "repair",
  .summary = "replace blocks of a disk that differ from its manifest",
  .usage =
  "Usage: blkhash repair --manifest FILE --sum SUM --from SRC [OPTION]... "
  "DISK\n"
  "Replace the blocks of DISK that differ from its manifest by those of other\n"
  "images, if these have the content that the manifest proves.\n",
  .groups = groups,
  .options_size = sizeof (struct repair_options),
  .defaults = &(const struct repair_options) {
    .repair.limit = STRATA_ALL / 100
  },
  .min_operands = 1, .max_operands = 1,
  .operands = "one disk is repaired",
  .run = run,
};
