/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blksum: print the checksum of disk images, or check it.
 *
 * SIGINT and SIGTERM have their default action, at once: there is nothing to
 * clean up, see qemu/nbd-process.c, or next to nothing, see io/new-file.c.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "blkhash.h"

#include "cli/difference.h"
#include "cli/interrupt.h"
#include "cli/option-table.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/usage.h"
#include "job/check.h"
#include "job/compare.h"
#include "job/expect.h"
#include "job/hash.h"
#include "job/manifest-file.h"
#include "job/merge.h"
#include "job/part.h"
#include "job/resume.h"
#include "job/update.h"
#include "util/error.h"
#include "util/request.h"

/* If a standard descriptor is closed, the next file that is opened gets its
 * number, and a sum would be written into it.  Occupy it with something that
 * fails in the direction in which it is used.
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
print_sums (const struct options *options)
{
  struct hash_request hash = options->hash;
  int i, status = EXIT_SUCCESS;

  for (i = 0; i < options->nr_operands; i++) {
    const char *name = options->operands[i];
    struct error error = { "" };
    struct sum sum;
    int err;

    if (options->nr_operands > 1)
      hash.progress.name = name;
    if (job_hash (&hash, name, &sum, &error) == -1) {
      report (name, &error);
      status = EXIT_TROUBLE;
      continue;
    }
    if (manifest_file_is_stdout (hash.manifest))
      continue;
    err = output_sum (options, name, &sum);
    blkhash_opts_free (sum.hash);
    if (err)
      report_write_failed (err);
  }
  return status;
}

/* Returns the exit status. */
static int
expect (const struct options *options)
{
  const struct expect_request request = {
    .hash = options->hash,
    .operand = options->operands[0],
    .expected = options->expect,
    .subset = options->verify.subset,
    .quiet = options->verify.report == CHECK_QUIET,
  };

  return job_expect (&request);
}

/* Returns the exit status. */
static int
make_part (const struct options *options)
{
  const char *name = options->operands[0];
  struct error error = { "" };

  if (job_part (&options->hash, &options->part, options->manifest_dir, name,
                &error) == 0)
    return EXIT_SUCCESS;
  report (name, &error);
  return EXIT_TROUBLE;
}

/* With a job that can find that a block is not what it was said to be.  Returns
 * the exit status.
 */
static int
print_incremental (const struct options *options,
                   int (*job) (const struct hash_request *hash,
                               const struct incremental_request *request,
                               const char *operand, struct sum *sum,
                               struct error *error))
{
  const char *name = options->operands[0];
  struct error error = { "" };
  struct sum sum;
  int r = job (&options->hash, &options->incremental, name, &sum, &error);
  int err = 0;

  if (r != 0) {
    report (name, &error);
    return r == 1 ? EXIT_DIFFERS : EXIT_TROUBLE;
  }
  if (!manifest_file_is_stdout (options->hash.manifest))
    err = output_sum (options, name, &sum);
  blkhash_opts_free (sum.hash);
  if (err)
    report_write_failed (err);
  return EXIT_SUCCESS;
}

/* What tells that it is finished stays until the sum has arrived: else the same
 * command could not print it again.  Returns the exit status.
 */
static int
resume (const struct options *options)
{
  int status;

  interrupt_prepare (options);
  status = print_incremental (options, job_resume);
  if (status == EXIT_SUCCESS)
    job_resume_end (options->hash.manifest);
  return status;
}

/* Print the sum of an image as that of its manifest, NAME. */
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
  struct error error = { "" };
  const char *operand;
  struct sum sum;

  if (job_merge (&options->hash, options->operands, options->nr_operands, &sum,
                 &operand, &error) == -1) {
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
  const struct compare_request request = {
    .hash = options->hash,
    .operands = { options->operands[0], options->operands[1] },
    .size = options->hash.source.size,
    .subset = options->verify.subset,
    .same_size = options->verify.strict,
    .first_only = options->verify.report == CHECK_QUIET,
  };
  struct difference difference = {
    .print_as = request.first_only ? NULL : options
  };
  struct error error = { "" };
  const char *operand;
  int err;

  /* What differs is seen when it is found, also through a pipe. */
  if (options->form != OUTPUT_JSON)
    setvbuf (stdout, NULL, _IOLBF, 0);
  if (job_compare (&request, &difference, &operand, &error) == -1) {
    if (difference.write_error)
      report_write_failed (difference.write_error);
    report (operand, &error);
    return EXIT_TROUBLE;
  }
  err = difference_end (&difference);
  if (err)
    report_write_failed (err);
  difference_destroy (&difference);
  if (difference.differ)
    return EXIT_DIFFERS;
  return difference.incomplete ? EXIT_TROUBLE : EXIT_SUCCESS;
}

int
main (int argc, char *argv[])
{
  struct options options;
  int status;

  occupy_standard_fds ();
  options_parse (&options, argc, argv);
  signal (SIGPIPE, SIG_IGN);
  signal (SIGCHLD, SIG_DFL);    /* a parent may have ignored it */
  options.hash.progress.to = progress_start (&options.progress);

  if (options.check)
    status = job_check (&options.hash, &options.verify, options.operands,
                        options.nr_operands);
  else if (options.expect)
    status = expect (&options);
  else if (options.compare)
    status = compare (&options);
  else if (options.part.n > 0)
    status = make_part (&options);
  else if (options.resume)
    status = resume (&options);
  else if (options.incremental.old)
    status = print_incremental (&options, job_update);
  else if (options.merge)
    status = merge (&options);
  else
    status = print_sums (&options);
  options_free (&options);
  return status;
}
