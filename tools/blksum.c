/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blksum: print the checksum of disk images, or check it.
 *
 * SIGHUP, SIGINT and SIGTERM end the program immediately.  They have handlers
 * only to remove a temporary file (io/new-file.c); after a handler the signal
 * has its default action.  The socket of qemu-nbd is removed by its own process:
 * see qemu/nbd-process.c.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blkhash.h"

#include "cli/container.h"
#include "cli/difference.h"
#include "cli/option-table.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/repaired.h"
#include "cli/report.h"
#include "cli/usage.h"
#include "cli/verdict.h"
#include "job/job.h"
#include "repair/repair.h"
#include "job/manifest-file.h"
#include "util/error.h"
#include "util/request.h"
#include "util/result.h"

/* If a standard descriptor is closed, the next file that is opened gets its
 * number, and a sum would be written into that file.  So open something that
 * fails when it is used like a standard descriptor.
 */
static void
occupy_standard_fds (void)
{
  int fd;

  for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl (fd, F_GETFD) == -1 &&
        open ("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
      exit (EXIT_TROUBLE);
}

/* Returns the exit status. */
static int
print_sum (const struct options *options, const struct hash_request *request)
{
  struct error error = { "" };
  struct sum sum;
  int err = 0;

  if (job_hash (request, &sum, &error) == -1) {
    report (request->operand, &error);
    return EXIT_TROUBLE;
  }
  if (!manifest_file_is_stdout (request->manifest))
    err = output_sum (options, request->operand, &sum);
  blkhash_opts_free (sum.hash);
  if (err)
    report_write_failed (err);
  container_report (request->operand, &sum.first, "sum");
  return EXIT_SUCCESS;
}

/* Returns the exit status. */
static int
print_sums (const struct options *options)
{
  struct hash_request request = options->hash;
  int i, status = EXIT_SUCCESS;

  for (i = 0; i < options->nr_operands; i++) {
    request.operand = options->operands[i];
    if (options->nr_operands > 1)
      request.progress.name = request.operand;
    if (print_sum (options, &request) != EXIT_SUCCESS)
      status = EXIT_TROUBLE;
  }
  return status;
}

/* Check the images of LIST.  Returns the exit status. */
static int
check_list (const struct options *options, const char *list)
{
  struct verdict_output output = {
    .options = options,
    .list = strcmp (list, "-") == 0 ? "standard input" : list,
  };
  const struct check_request request = {
    .hash = options->hash,
    .list = list,
    .part = options->part,
    .ignore_missing = options->verify.ignore_missing,
    .allow_uris = options->verify.allow_uris,
    .report = verdict_line,
    .opaque = &output,
  };
  struct check_result result;
  struct error error = { "" };
  int r = job_check (&request, &result, &error);

  if (r == -1)
    report (output.list, &error);
  return verdict_end (&output, &result, r == 0);
}

/* Returns the exit status.  A mismatch in one list takes precedence over a list
 * that could not be read.
 */
static int
check (const struct options *options)
{
  int i, status = EXIT_SUCCESS;

  for (i = 0; i < options->nr_operands; i++) {
    int of_list = check_list (options, options->operands[i]);

    if (of_list == EXIT_DIFFERS || status == EXIT_SUCCESS)
      status = of_list;
  }
  return status;
}

static void
print_expected (const char *name, const struct expect_result *result)
{
  int err = verdict_print (name, result->verdict);

  if (!result->same)
    report (name, &result->why);
  else if (err == 0)
    err = verdict_print_trailing (name, result->trailing);
  if (err)
    report_write_failed (err);
}

/* Returns the exit status. */
static int
expect (const struct options *options)
{
  const char *name = options->operands[0], *operand;
  struct expect_request request = {
    .hash = options->hash,
    .expected = options->expect,
    .part = options->part,
  };
  struct expect_result result;
  struct error error = { "" };
  int err;

  request.hash.operand = name;
  if (job_expect (&request, &result, &operand, &error) == -1) {
    if (!operand)
      usage_error ("%s", error.text);
    report (operand, &error);
    if (*result.verdict && options->verify.report != CHECK_QUIET &&
        (err = verdict_print (name, result.verdict)))
      report_write_failed (err);
    return EXIT_TROUBLE;
  }
  if (options->verify.report != CHECK_QUIET)
    print_expected (name, &result);
  container_report (name, &result.first, "sum");
  return result.same ? EXIT_SUCCESS : EXIT_DIFFERS;
}

#ifdef HAVE_LINUX_LOOP_H

/* Returns the exit status. */
static int
repair (const struct options *options)
{
  struct repaired_output output = { .options = options };
  struct repair_request request = options->repair;
  bool silent = options->verify.report == CHECK_QUIET &&
    options->form != OUTPUT_JSON;
  struct repair_result result;
  struct error error = { "" };
  const char *operand;
  int err;

  request.hash = options->hash;
  request.hash.operand = options->operands[0];
  request.expected = options->expect;
  request.found = silent ? NULL : repaired_range;
  request.opaque = &output;
  if (job_repair (&request, &result, &operand, &error) == -1) {
    if (!operand)
      usage_error ("%s", error.text);
    if (output.error)
      report_write_failed (output.error);
    report (operand, &error);
    return EXIT_TROUBLE;
  }
  err = silent ? 0 : repaired_end (&output, &result);
  if (err)
    report_write_failed (err);
  return repaired_all (&result) ? EXIT_SUCCESS : EXIT_DIFFERS;
}

#else

static int
repair (const struct options *options)
{
  (void) options;
  usage_error ("--repair-from is only possible on Linux");
}

#endif

/* Returns the exit status. */
static int
make_part (const struct options *options)
{
  struct part_request request = {
    .hash = options->hash,
    .part = options->part,
    .dir = options->manifest_dir,
  };
  struct error error = { "" };

  request.hash.operand = options->operands[0];
  if (job_part (&request, &error) == 0)
    return EXIT_SUCCESS;
  report (request.hash.operand, &error);
  return EXIT_TROUBLE;
}

/* Returns the exit status. */
static int
update (const struct options *options)
{
  const char *name = options->operands[0];
  struct update_request request = options->update;
  struct error error = { "" };
  struct sum sum;
  int r, err = 0;

  request.hash = options->hash;
  request.hash.operand = name;
  r = job_update (&request, &sum, &error);
  if (r != 0) {
    report (name, &error);
    return r == 1 ? EXIT_DIFFERS : EXIT_TROUBLE;
  }
  if (!manifest_file_is_stdout (options->hash.manifest))
    err = output_sum (options, name, &sum);
  blkhash_opts_free (sum.hash);
  if (err)
    report_write_failed (err);
  container_report (name, &sum.first, "sum");
  return EXIT_SUCCESS;
}

/* Print the sum of an image under the name of its manifest, manifest:NAME. */
static void
print_merged (const struct options *options, const char *name,
              const struct sum *sum)
{
  char *operand;
  int err = ENOMEM;

  if (asprintf (&operand, "manifest:%s", name) != -1) {
    err = output_sum (options, operand, sum);
    free (operand);
  }
  if (err)
    report_write_failed (err);
}

/* Returns the exit status. */
static int
merge (const struct options *options)
{
  const struct merge_request request = {
    .hash = options->hash,
    .paths = options->operands,
    .count = options->nr_operands,
  };
  struct error error = { "" };
  const char *operand;
  struct sum sum;

  if (job_merge (&request, &sum, &operand, &error) == -1) {
    report (operand, &error);
    return EXIT_TROUBLE;
  }
  if (!manifest_file_is_stdout (options->hash.manifest))
    print_merged (options, options->hash.manifest, &sum);
  blkhash_opts_free (sum.hash);
  return EXIT_SUCCESS;
}

/* Returns the exit status. */
static int
compare (const struct options *options)
{
  struct difference_output output = { .options = options };
  const struct compare_request request = {
    .hash = options->hash,
    .operands = { options->operands[0], options->operands[1] },
    .size = options->hash.source.size,
    .part = options->part,
    .same_size = options->verify.strict,
    .first_only = options->verify.report == CHECK_QUIET,
    .report = difference_range,
    .opaque = &output,
  };
  struct difference difference;
  struct error error = { "" };
  const char *operand;
  int err = difference_begin (&output);

  if (err)
    report_write_failed (err);
  /* Flush each range when it is found, also to a pipe. */
  if (options->form == OUTPUT_PLAIN)
    setvbuf (stdout, NULL, _IOLBF, 0);
  if (job_compare (&request, &difference, &operand, &error) == -1) {
    if (output.error)
      report_write_failed (output.error);
    report (operand, &error);
    ranges_free (&output.ranges);
    return EXIT_TROUBLE;
  }
  if (!request.first_only)
    err = difference_end (&output, &difference);
  ranges_free (&output.ranges);
  if (err)
    report_write_failed (err);
  free (difference.manifest_sum);
  for (int i = 0; i < 2; i++)
    container_report (request.operands[i], &difference.first_bytes[i],
                      "comparison");
  return difference.differ ? EXIT_DIFFERS : EXIT_SUCCESS;
}

/* Print a warning while a job runs. */
static void
warn (const char *name, const struct error *error)
{
  progress_hide ();
  report (name, error);
  progress_show ();
}

int
main (int argc, char *argv[])
{
  struct options options;
  int status;

  occupy_standard_fds ();
  options_parse (&options, argc, argv);
  signal (SIGPIPE, SIG_IGN);
  signal (SIGXFSZ, SIG_IGN);    /* a write fails with EFBIG */
  signal (SIGCHLD, SIG_DFL);    /* a parent may have ignored it */
  progress_start (&options.progress);
  options.hash.progress.update = progress_update;
  options.hash.source.warn = warn;

  if (options.check)
    status = check (&options);
  else if (options.repair.nr_sources > 0)
    status = repair (&options);
  else if (options.expect)
    status = expect (&options);
  else if (options.compare)
    status = compare (&options);
  else if (options.part.n > 0)
    status = make_part (&options);
  else if (options.update.old)
    status = update (&options);
  else if (options.merge)
    status = merge (&options);
  else
    status = print_sums (&options);
  options_free (&options);
  return status;
}
