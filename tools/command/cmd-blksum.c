/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blksum: print the sums of images; with --expect compare one with a sum that
 * is given; with --check compare those in lists, with the output of sha256sum
 * --check.
 */

#include <config.h>

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/input-options.h"
#include "cli/program.h"
#include "command/commands.h"
#include "job/job.h"
#include "util/error.h"

/* All NBD servers accept requests of this size, unless they announce another
 * limit: see nbd/nbd-reader.c.
 */
#define MAX_READ_SIZE (32 * 1024 * 1024)

/* The modes, as bits of the rows. */
#define MODE_SUM 1u
#define MODE_CHECK 2u
#define MODE_EXPECT 4u

/* The verdicts that --check and --expect print, in addition to errors. */
enum verdict_report {
  REPORT_ALL,
  REPORT_QUIET,                 /* all except OK */
  REPORT_STATUS,                /* none */
  REPORT_WARN,                  /* all, and malformed lines */
};

struct blksum_options {
  struct input_options input;
  char **operands;              /* at least one */
  int nr_operands;

  /* --check and --expect.  Without either, print the sums of the operands. */
  bool check;                   /* the operands are lists */
  const char *expect;           /* the sum that the operand must have */
  unsigned report;              /* enum verdict_report; as in sha256sum, the
                                 * last option counts */

  /* --check */
  bool strict;                  /* malformed lines are an error */
  bool ignore_missing;          /* missing files are not an error */
  bool allow_uris;              /* lists can contain URIs */
};

#define FIELD(name) OPTION_FIELD (struct blksum_options, name)

/* Add the digest NAME to those of the content. */
static void
add_content (struct input_options *input, const char *name)
{
  struct blkhash_opts *opts = blkhash_opts_new (name);

  if (!opts && errno != EINVAL)
    usage_failed ("--also");
  if (!opts)
    usage_invalid ("--also: unknown digest '%s', see --list-digests", name);
  if (blkhash_opts_get_digest_size (opts) == 0)
    usage_invalid ("--also: a digest whose length is zero proves nothing");
  if (!content_sums_add (&input->hash.content,
                         blkhash_opts_get_digest_name (opts)))
    usage_invalid ("--also: more than %d digests", CONTENT_MAX_SUMS);
  blkhash_opts_free (opts);
}

static void
set_also (void *options, const struct option_use *use)
{
  struct input_options *input = options;
  char *rest = use->arg, *name;

  while ((name = strsep (&rest, ",")))
    add_content (input, name);
  input->output.tag = true;
}

/* A second sum would replace the first, which could be the right one. */
static void
set_expect (void *opaque, const struct option_use *use)
{
  struct blksum_options *options = opaque;

  if (options->expect)
    usage_error ("--expect is given twice");
  options->expect = use->arg;
}

static const struct option_row sum_rows[] = {
  DIGEST_ROW ("DIGEST[/SIZE[/sN|/linear]]; default sha256/64k"),
  { 'l', "list-digests", NULL, "list the digests and exit",
    .print = input_print_digests },
  { 0, "manifest", "FILE",
    "write the digests of all blocks; - is stdout",
    FIELD (input.hash.manifest), .modes = MODE_SUM },
  { 0, "also", "DIGEST,...", "print plain digests of the content, too",
    .set = set_also, .modes = MODE_SUM, .repeats = true },
  { 0, "tag", NULL, "print blk-SPEC (NAME) = HEX",
    FIELD (input.output.tag), .value = true, .modes = MODE_SUM },
  { 0, "no-names", NULL, "print no names",
    FIELD (input.output.no_names), .value = true, .modes = MODE_SUM },
  { 'z', "zero", NULL, "end lines with NUL, and escape no names",
    FIELD (input.output.zero), .value = true, .modes = MODE_SUM },
  OUTPUT_ROW,

  /* For compatibility. */
  { 'b', "block-size", "SIZE", NULL, OPTION_SIZE (0, UINT32_MAX),
    .set = input_set_block_size },
  { 0, "queue-depth", "N", NULL, OPTION_NUMBER (1, 1024),
    FIELD (input.hash.source.queue_depth) },
  { 0, "read-size", "SIZE", NULL, OPTION_SIZE (512, MAX_READ_SIZE),
    FIELD (input.hash.source.read_size) },
  { .name = NULL },
};

static const struct option_row check_rows[] = {
  { 0, "check", NULL, "check the sums in the LISTs",
    FIELD (check), .value = true, .selects = MODE_CHECK },
  { 0, "expect", "SUM", "check one image; SUM as any program here prints it",
    .set = set_expect, .selects = MODE_EXPECT },
  { 0, "part", "I/N", "read only part I of N, from 0; needs manifests",
    .set = input_set_part, .modes = MODE_CHECK | MODE_EXPECT },
  { 'q', "quiet", NULL, "do not print OK",
    FIELD (report), .value = REPORT_QUIET,
    .modes = MODE_CHECK | MODE_EXPECT },
  { 0, "status", NULL, "print nothing, only set the exit status",
    FIELD (report), .value = REPORT_STATUS,
    .modes = MODE_CHECK | MODE_EXPECT },
  { 'w', "warn", NULL, "report improperly formatted lines",
    FIELD (report), .value = REPORT_WARN, .modes = MODE_CHECK },
  { 0, "strict", NULL, "fail on improperly formatted lines",
    FIELD (strict), .value = true, .modes = MODE_CHECK },
  { 0, "ignore-missing", NULL, "skip files that do not exist",
    FIELD (ignore_missing), .value = true, .modes = MODE_CHECK },
  { 0, "allow-uris", NULL, "open URIs that are in a LIST",
    FIELD (allow_uris), .value = true, .modes = MODE_CHECK },
  { .name = NULL },
};

static const struct option_group groups[] = {
  { NULL, sum_rows },
  { "Check", check_rows },
  INPUT_GROUPS,
};

/* ---- Sums ---- */

/* Returns the exit status. */
static int
print_sums (const struct blksum_options *options)
{
  struct hash_request request = options->input.hash;
  int i, status = EXIT_SUCCESS;

  for (i = 0; i < options->nr_operands; i++) {
    const char *name = options->operands[i];
    struct error error = { "" };
    struct sum sum;
    int r;

    request.operand = name;
    if (options->nr_operands > 1)
      request.progress.name = name;
    r = job_hash (&request, &sum, &error);
    if (output_outcome (&options->input.output, &request, name, &sum, r, name,
                        &error) != EXIT_SUCCESS)
      status = EXIT_TROUBLE;
  }
  return status;
}

/* ---- --expect ---- */

/* Print the hint about the image NAME, and whether it contains another one. */
static void
print_notes (const char *name, const struct expect_result *result)
{
  if (error_is_set (&result->hint))
    report (name, &result->hint);
  container_report (name, &result->first, "sum");
}

/* Print the verdict, unless it is OK and only others are printed.  ERROR is the
 * reason, if the image has no sum.
 */
static void
print_verdict (const struct blksum_options *options, const char *name,
               const struct expect_result *result, const struct error *error,
               int status)
{
  if (options->report == REPORT_STATUS ||
      (options->report == REPORT_QUIET && status == EXIT_SUCCESS))
    return;
  if (options->input.output.form == OUTPUT_JSON)
    output_verdict (name, result, &options->input.part, error, status);
  else if (*result->verdict)
    output_line (name, result->verdict);
  if (status == EXIT_SUCCESS && options->input.output.form == OUTPUT_HUMAN)
    output_trailing (name, result->trailing);
}

static int
expect (const struct blksum_options *options)
{
  const char *name = options->operands[0], *operand;
  struct expect_request request = {
    .hash = options->input.hash,
    .expected = options->expect,
    .part = options->input.part,
  };
  struct expect_result result;
  struct error error = { "" }, about = { "" };

  request.hash.operand = name;
  if (job_expect (&request, &result, &operand, &error) == -1) {
    if (!operand)
      usage_invalid ("%s", error.text);
    report (operand, &error);
    error_about (&about, operand, "%s", error.text);
    print_verdict (options, name, &result, operand == name ? &error : &about,
                   EXIT_TROUBLE);
    return EXIT_TROUBLE;
  }
  print_verdict (options, name, &result,
                 result.same || *result.sum ? NULL : &result.why,
                 result.same ? EXIT_SUCCESS : EXIT_DIFFERS);
  if (options->report != REPORT_STATUS) {
    if (!result.same)
      report (name, &result.why);
    print_notes (name, &result);
  }
  return result.same ? EXIT_SUCCESS : EXIT_DIFFERS;
}

/* ---- --check: a line ---- */

/* The state of the output for one list. */
struct list_output {
  const struct blksum_options *options;
  const char *list;             /* its name in messages */
  bool damage_reported;         /* an earlier line of the list is damaged */
};

/* A damaged line makes the check fail, so at least the first one is reported,
 * except with --status.
 */
static bool
is_reported (const struct list_output *output, const struct check_line *line)
{
  enum verdict_report level = output->options->report;

  switch (line->outcome) {
  case LINE_MALFORMED:
    return level == REPORT_WARN;
  case LINE_DAMAGED:
    return level == REPORT_WARN ||
      (level != REPORT_STATUS && !output->damage_reported);
  default:
    return true;
  }
}

/* The exit status for a line alone. */
static int
status_of (enum check_outcome outcome)
{
  return outcome == LINE_MATCH ? EXIT_SUCCESS
    : outcome == LINE_MISMATCH || outcome == LINE_DIFFERS ? EXIT_DIFFERS
    : EXIT_TROUBLE;
}

/* Print the verdict and the error of LINE, if it has them, and the options do
 * not suppress them.  In JSON, a line without an image that makes the check
 * fail has an object, too: otherwise all could be "ok".  This is the report
 * function of a struct check_request.
 */
static void
print_line (void *opaque, const struct check_line *line)
{
  struct list_output *output = opaque;
  enum verdict_report level = output->options->report;
  const char *name = line->name ? line->name : output->list;
  bool is_json = output->options->input.output.form == OUTPUT_JSON;
  const struct error *error = line->error;
  bool fails = line->outcome == LINE_DAMAGED ||
    (line->outcome == LINE_MALFORMED && output->options->strict);

  if (!error && line->outcome == LINE_MISMATCH && !*line->verified->sum)
    error = &line->verified->why;
  if (line->error && is_reported (output, line))
    report (name, line->error);
  output->damage_reported |= line->outcome == LINE_DAMAGED;
  if (level != REPORT_STATUS &&
      (level != REPORT_QUIET || line->outcome != LINE_MATCH)) {
    if (line->verdict && !is_json)
      output_line (name, line->verdict);
    else if (is_json && (line->verdict || fails))
      output_verdict (name, line->verified, &output->options->input.part,
                      error, status_of (line->outcome));
  }
  if (line->verified && level != REPORT_STATUS)
    print_notes (line->name, line->verified);
}

/* ---- --check: a list ---- */

static void
warn (uint64_t count, const char *one, const char *many)
{
  if (count > 0)
    fprintf (stderr, "%s: WARNING: %" PRIu64 " %s\n", program_name, count,
             count == 1 ? one : many);
}

static void
warn_lines (const struct check_result *result)
{
  const uint64_t *lines = result->lines;

  warn (lines[LINE_MALFORMED] + lines[LINE_DAMAGED],
        "line is improperly formatted", "lines are improperly formatted");
  warn (lines[LINE_UNREAD], "listed file could not be read",
        "listed files could not be read");
  warn (lines[LINE_UNCHECKED], "part is empty, and was not checked",
        "parts are empty, and were not checked");
  warn (lines[LINE_UNKNOWN], "listed file has no sum",
        "listed files have no sum");
  warn (lines[LINE_DIFFERS], "listed file differs from its manifest",
        "listed files differ from their manifests");
  warn (lines[LINE_MISMATCH], "computed checksum did NOT match",
        "computed checksums did NOT match");
}

/* Print the warnings about the whole list.  ERROR is set if the list could not
 * be read to its end.  Returns the exit status.
 */
static int
end_list (const struct list_output *output, const struct check_result *result,
          struct error *error)
{
  const struct blksum_options *options = output->options;
  struct error hint = { "" };
  const uint64_t *lines = result->lines;
  uint64_t failed = lines[LINE_UNREAD] + lines[LINE_UNCHECKED] +
    lines[LINE_UNKNOWN];
  uint64_t different = lines[LINE_MISMATCH] + lines[LINE_DIFFERS];
  uint64_t formatted = lines[LINE_MATCH] + different + failed +
    lines[LINE_MISSING];
  bool silent = options->report == REPORT_STATUS;
  bool none_verified = options->ignore_missing && lines[LINE_MATCH] == 0;

  if (formatted > 0 && !silent)
    warn_lines (result);
  if (formatted == 0)
    error_set (error, "%s", result->foreign
               ? "no sums of disks found: these are sums of files, as in "
                 "the manifest of an OVF; check them with the program that "
                 "wrote them, such as sha256sum"
               : "no properly formatted checksum lines found");
  else if (none_verified && !silent)
    error_set (error, "no file was verified");
  else if (lines[LINE_MISMATCH] > 0 && lines[LINE_MATCH] == 0 &&
           !result->tagged && !silent)
    error_set (&hint, "none matches, and none has a tag; made with another -d, "
               "or by sha256sum?");
  if (error_is_set (&hint))
    report (output->list, &hint);
  if (error_is_set (error) && silent)
    report (output->list, error);
  else if (error_is_set (error))
    output_failure (&options->input.output, output->list, output->list, error,
                    EXIT_TROUBLE);

  if (different > 0)
    return EXIT_DIFFERS;
  if (error_is_set (error) || none_verified || failed > 0 ||
      lines[LINE_DAMAGED] > 0 ||
      (options->strict && lines[LINE_MALFORMED] > 0))
    return EXIT_TROUBLE;
  return EXIT_SUCCESS;
}

static int
check_list (const struct blksum_options *options, const char *list)
{
  struct list_output output = {
    .options = options,
    .list = strcmp (list, "-") == 0 ? "standard input" : list,
  };
  const struct check_request request = {
    .hash = options->input.hash,
    .list = list,
    .part = options->input.part,
    .ignore_missing = options->ignore_missing,
    .allow_uris = options->allow_uris,
    .report = print_line,
    .opaque = &output,
  };
  struct check_result result;
  struct error error = { "" };

  job_check (&request, &result, &error);
  return end_list (&output, &result, &error);
}

/* A mismatch in one list takes precedence over one that could not be read. */
static int
check (const struct blksum_options *options)
{
  int i, status = EXIT_SUCCESS;

  for (i = 0; i < options->nr_operands; i++) {
    int of_list = check_list (options, options->operands[i]);

    if (of_list == EXIT_DIFFERS || status == EXIT_SUCCESS)
      status = of_list;
  }
  return status;
}

/* ---- The command ---- */

static int
run (void *opaque, int nr_operands, char *operands[])
{
  static char *standard_input[] = { (char *) "-", NULL };
  struct blksum_options *options = opaque;

  if (nr_operands > 1 && options->input.hash.manifest)
    usage_error ("--manifest is for one image");
  if (options->input.hash.content.count > 0 && options->input.hash.manifest &&
      strcmp (options->input.hash.manifest, "-") == 0)
    usage_error ("--also prints sums, and --manifest - writes to stdout");
  if (nr_operands > 1 && options->expect)
    usage_error ("--expect is for one image");
  options->operands = nr_operands > 0 ? operands : standard_input;
  options->nr_operands = nr_operands > 0 ? nr_operands : 1;
  return options->check ? check (options)
    : options->expect ? expect (options) : print_sums (options);
}

const struct command cmd_blksum = {
  .usage =
  "Usage: blksum [OPTION]... [FILE|URI|-]...\n"
  "       blksum --check [OPTION]... [LIST|-]...\n"
  "       blksum --expect SUM|manifest:FILE [OPTION]... [FILE|URI|-]\n"
  "Print or check sums of the content of disk images.  The sum is the same\n"
  "for raw, qcow2 or an NBD export of one disk.  Default operand: -, stdin.\n",
  .help_end =
  "SIZE: 512, 64k, 10G, 1TiB.  Exit status: 0 yes, 1 differs, 2 unknown.\n",
  .groups = groups,
  .default_mode = MODE_SUM,
  .file_modes = MODE_CHECK,
  .options_size = sizeof (struct blksum_options),
  .max_operands = INT_MAX,
  .run = run,
};
