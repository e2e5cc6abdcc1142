/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blksum --expect: compare the sum of an image with one that is given.  The
 * rows are in cmd-check.c.
 */

#include <config.h>

#include <stdlib.h>

#include "cli/program.h"
#include "command/commands.h"
#include "job/job.h"
#include "util/error.h"
#include "job/job.h"
#include "job/job.h"

/* Print the verdict, unless it is OK and only others are printed.  ERROR is the
 * reason, if the image has no sum.
 */
static void
print (const struct blksum_options *options, const char *name,
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

int
cmd_expect (const struct blksum_options *options)
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
    print (options, name, &result, operand == name ? &error : &about,
           EXIT_TROUBLE);
    return EXIT_TROUBLE;
  }
  print (options, name, &result,
         result.same || *result.sum ? NULL : &result.why,
         result.same ? EXIT_SUCCESS : EXIT_DIFFERS);
  if (options->report != REPORT_STATUS) {
    if (!result.same)
      report (name, &result.why);
    container_report (name, &result.first, "sum");
  }
  return result.same ? EXIT_SUCCESS : EXIT_DIFFERS;
}
