/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blksum --expect: compare the sum of an image with one that is given.  The rows
 * are in cmd-check.c.
 */

#include <config.h>

#include <stdlib.h>

#include "cli/container.h"
#include "cli/program.h"
#include "cli/usage.h"
#include "cli/verdict.h"
#include "command/blksum-options.h"
#include "job/job.h"
#include "util/error.h"
#include "util/request.h"
#include "util/result.h"

static void
print (const char *name, const struct expect_result *result, bool quiet)
{
  int err = quiet && result->same ? 0 : verdict_print (name, result->verdict);

  if (!result->same)
    report (name, &result->why);
  else if (err == 0 && !quiet)
    err = verdict_print_trailing (name, result->trailing);
  if (err)
    report_write_failed (err);
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
  bool silent = options->report == REPORT_STATUS;
  struct expect_result result;
  struct error error = { "" };
  int err;

  request.hash.operand = name;
  if (job_expect (&request, &result, &operand, &error) == -1) {
    if (!operand)
      usage_invalid ("%s", error.text);
    report (operand, &error);
    if (*result.verdict && !silent &&
        (err = verdict_print (name, result.verdict)))
      report_write_failed (err);
    return EXIT_TROUBLE;
  }
  if (!silent) {
    print (name, &result, options->report == REPORT_QUIET);
    container_report (name, &result.first, "sum");
  }
  return result.same ? EXIT_SUCCESS : EXIT_DIFFERS;
}
