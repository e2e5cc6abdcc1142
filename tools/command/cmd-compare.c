/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blkhash compare: print the ranges in which two images differ, as lines, JSON
 * or a mapfile.
 *
 * The JSON of a comparison that fails is not terminated, so that it is invalid,
 * and not mistaken for a complete result.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lib/common/mapfile.h"
#include "../lib/common/text.h"
#include "../lib/common/util.h"
#include "cli/input-options.h"
#include "cli/program.h"
#include "cli/progress-bar.h"
#include "command/commands.h"
#include "job/job.h"
#include "util/error.h"
#include "util/ranges.h"

struct compare_options {
  struct input_options input;
  const char *formats[2];       /* or NULL, to probe */
  bool strict;                  /* different sizes count as a difference */
  bool quiet;                   /* stop at the first difference */
};

#define FIELD(name) OPTION_FIELD (struct compare_options, name)

static const struct option_row rows[] = {
  { 'f', "a-format", "FMT", "format of A; default: probe",
    FIELD (formats[0]) },
  { 'F', "b-format", "FMT", "format of B; default: probe",
    FIELD (formats[1]) },
  DIGEST_ROW ("DIGEST[/SIZE]; SIZE is the unit, default 64k"),
  PART_ROW ("compare only part I of N, counted from 0"),
  { 's', "strict", NULL, "images of different sizes differ",
    FIELD (strict), .value = true },
  { 'q', "quiet", NULL, "print nothing, stop at the first difference",
    FIELD (quiet), .value = true },
  { 0, "output", "FORM", "human, json, or mapfile (of GNU ddrescue)",
    .words = "human json mapfile", FIELD (input.output.form) },
  { .name = NULL },
};

static const struct option_group groups[] = {
  { NULL, rows },
  { "Input", input_rows },
  { "", standard_rows },
  { NULL, NULL },
};

struct difference_output {
  const struct compare_options *options;
  char *const *operands;
  bool sizes_printed;
  struct ranges ranges;         /* for a mapfile: the reported ranges */
  int error;                    /* the errno value with which print_range failed
                                 * to write to stdout, or 0 */
};

/* The size of the larger image, or UINT64_MAX while the size of a pipe is not
 * known.
 */
#define LARGER(difference) MAX ((difference)->size[0], (difference)->size[1])

/* ---- JSON ---- */

static void
end_json (const struct difference_output *output,
          const struct difference *difference)
{
  const struct part *part = &output->options->input.part;
  int i;

  printf ("%s],\"images\":[",
          difference->nr_ranges == 0 ? "{\"ranges\":[" : "");
  for (i = 0; i < 2; i++) {
    printf ("%s{\"name\":", i > 0 ? "," : "");
    json_string (stdout, output->operands[i]);
    printf (",\"size\":%" PRIu64 "}", difference->size[i]);
  }
  putchar (']');
  if (part->n > 0)
    printf (",\"part\":\"%" PRIu32 "/%" PRIu32 "\"", part->i, part->n);
  printf (",\"compared-bytes\":%" PRIu64, difference->compared_bytes);
  output_result (difference->differ ? EXIT_DIFFERS : EXIT_SUCCESS);
  putchar ('\n');
}

/* ---- Lines ---- */

/* Print the sizes if they differ, as soon as both are known: the size of a pipe
 * is known only at its end.  This is also the begin function of a struct
 * compare_request.
 */
static void
print_sizes (void *opaque, const struct difference *difference)
{
  struct difference_output *output = opaque;

  if (output->sizes_printed ||
      output->options->input.output.form != OUTPUT_HUMAN ||
      difference->size[0] == difference->size[1] ||
      LARGER (difference) == UINT64_MAX)
    return;
  printf ("The sizes differ: %" PRIu64 " and %" PRIu64 " bytes.\n",
          difference->size[0], difference->size[1]);
  output->sizes_printed = true;
}

static void
end_lines (struct difference_output *output,
           const struct difference *difference)
{
  const struct input_options *options = &output->options->input;
  const char *what = difference->differ ? "Compared" : "No difference in";
  char part[PART_TEXT_SIZE];
  int i;

  print_sizes (output, difference);
  if (options->part.n > 0) {    /* the result is valid only for it */
    part_describe (&options->part, difference->compared_bytes,
                   difference->size[0], part);
    printf ("%s %s.\n", what, part);
  }
  else if (!difference->differ &&
           options->hash.source.size != SOURCE_WHOLE)
    printf ("The first %" PRIu64 " bytes are identical.\n",
            difference->size[0]);
  else if (!difference->differ)
    puts ("The images are identical.");
  for (i = 0; i < 2; i++)
    output_trailing (output->operands[i], difference->trailing[i]);
}

/* ---- A domain mapfile of GNU ddrescue ---- */

/* In it "+" is what ddrescue copies with -m, and "?" is the rest.
 *
 * ddrescue must not use the output of a comparison that failed.  With an empty
 * mapfile it would copy nothing, and succeed, as with an empty domain.  So a
 * part of the status line is printed before the comparison: ddrescue refuses a
 * mapfile that ends there.  The rest is printed when all ranges are known,
 * because a mapfile that ends between two ranges is valid.
 *
 * With a part, "?" is also what was not compared, so the first line is not that
 * by which --changed recognizes a mapfile.
 */
static void
begin_mapfile (bool is_partial)
{
  errno = 0;
  fputs (is_partial ? MAPFILE_SIGNATURE ("blkhash, of a part")
                    : MAPFILE_SIGNATURE ("blkhash"), stdout);
  fputs (MAPFILE_STATUS_BEGIN, stdout);
  program_flush ();
}

/* Print the rest, up to SIZE, the larger size of the two images.  If there are
 * too many ranges, the gaps between some of them were added (see ranges.h), and
 * ddrescue copies some bytes that do not differ.
 */
static void
end_mapfile (struct ranges *ranges, uint64_t size)
{
  uint64_t end = 0;
  size_t i;

  ranges_sort (ranges);
  fputs (MAPFILE_STATUS_END ("+"), stdout);
  for (i = 0; i < ranges->count; i++) {
    const struct ranges_item *range = &ranges->items[i];

    if (range->start > end)
      mapfile_print_range (stdout, end, range->start - end, MAPFILE_NOT_TRIED);
    mapfile_print_range (stdout, range->start, range->len, MAPFILE_FINISHED);
    end = range->start + range->len;
  }
  if (end < size)
    mapfile_print_range (stdout, end, size - end, MAPFILE_NOT_TRIED);
}

/* ---- All forms ---- */

/* Report that two images that must have the same size have not.  The second one
 * is taken for the copy: if it is shorter, it may be cut off, and --size would
 * hide that.
 */
static void
report_sizes (const struct difference_output *output, const uint64_t *size)
{
  struct error error = { "" };

  error_size (&error, size[1], output->operands[0], size[0]);
  report (output->operands[1], &error);
}

/* The report function of a struct compare_request. */
static int
print_range (void *opaque, const struct difference *difference, uint64_t start,
             uint64_t length)
{
  struct difference_output *output = opaque;
  bool first = difference->nr_ranges == 1;

  if (output->options->input.output.form == OUTPUT_MAPFILE)
    return ranges_add (&output->ranges, start, length);
  progress_hide ();
  errno = 0;
  print_sizes (output, difference);
  if (output->options->input.output.form == OUTPUT_HUMAN)
    printf ("%" PRIu64 " bytes at %" PRIu64 " differ\n", length, start);
  else {
    fputs (first ? "{\"ranges\":[" : "", stdout);
    output_range (first, start, length, "differs", NULL);
  }
  output->error = ferror (stdout) ? errno ? errno : EIO : 0;
  progress_show ();
  return output->error;
}

/* Print what follows the last range.  A mapfile is not completed if nothing was
 * compared, so that ddrescue refuses it.
 */
static void
end (struct difference_output *output, const struct difference *difference)
{
  bool compared = difference->compared_bytes == LARGER (difference) ||
    output->options->input.part.n > 0;

  if (!compared)
    report_sizes (output, difference->size);
  errno = 0;
  if (output->options->input.output.form == OUTPUT_JSON)
    end_json (output, difference);
  else if (output->options->input.output.form == OUTPUT_HUMAN)
    end_lines (output, difference);
  else if (compared)
    end_mapfile (&output->ranges, LARGER (difference));
  program_flush ();
}

/* ---- The command ---- */

static int
run (void *opaque, int nr_operands, char *operands[])
{
  const struct compare_options *options = opaque;
  struct difference_output output = {
    .options = options, .operands = operands
  };
  const struct compare_request request = {
    .hash = options->input.hash,
    .operands = { operands[0], operands[1] },
    .formats = { options->formats[0], options->formats[1] },
    .size = options->input.hash.source.size,
    .part = options->input.part,
    .same_size = options->strict,
    .first_only = options->quiet,
    .begin = options->quiet ? NULL : print_sizes,
    .report = print_range,
    .opaque = &output,
  };
  struct difference difference;
  struct error error = { "" };
  const char *operand;

  (void) nr_operands;
  input_check_format (options->formats[0]);
  input_check_format (options->formats[1]);
  if (options->input.output.form == OUTPUT_MAPFILE && options->quiet)
    usage_error ("--output=mapfile cannot be used with --quiet");
  if (options->input.output.form == OUTPUT_MAPFILE)
    begin_mapfile (options->input.part.n > 0);
  /* Flush each range when it is found, also to a pipe. */
  if (options->input.output.form == OUTPUT_HUMAN)
    setvbuf (stdout, NULL, _IOLBF, 0);
  if (job_compare (&request, &difference, &operand, &error) == -1) {
    if (output.error)
      report_write_failed (output.error);
    if (difference.nr_ranges > 0)
      report (operand, &error);
    else
      output_failure (&options->input.output, operand, operand, &error,
                      EXIT_TROUBLE);
    ranges_free (&output.ranges);
    return EXIT_TROUBLE;
  }
  if (!options->quiet)
    end (&output, &difference);
  ranges_free (&output.ranges);
  for (int i = 0; i < 2; i++)
    container_report (operands[i], &difference.first_bytes[i], "comparison");
  return difference.differ ? EXIT_DIFFERS : EXIT_SUCCESS;
}

const struct command cmd_compare = {
  .name = "compare",
  .summary = "print the ranges in which two images differ",
  .usage =
  "Usage: blkhash compare [OPTION]... A B\n"
  "Print the ranges in which A and B differ.  Each is FILE, URI, - or\n"
  "manifest:FILE.  Zeros at the end of the longer one do not count.\n",
  .groups = groups,
  .options_size = sizeof (struct compare_options),
  .min_operands = 2, .max_operands = 2,
  .operands = "two images are compared",
  .run = run,
};
