/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * blksum: print the checksum of disk images.
 *
 * SIGINT and SIGTERM have their default action, at once: there is nothing to
 * clean up, see qemu/nbd-process.c.
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

#include "cli/difference.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/usage.h"
#include "job/compare.h"
#include "job/hash.h"
#include "job/manifest-file.h"
#include "util/error.h"

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

/* Each line begins with NAME, and whatever is in it, it makes no other line. */
static void
report (const char *name, const struct error *error)
{
  const char *text = error->text;
  struct error prefix = { "" };

  error_set (&prefix, "%s", name);
  for (;;) {
    int len = strcspn (text, "\n");

    fprintf (stderr, "blksum: %s: %.*s\n", prefix.text, len, text);
    if (text[len] == '\0')
      return;
    text += len + 1;
  }
}

/* SIGPIPE is ignored, because of sockets; of a broken pipe behind stdout
 * blksum dies as any other program does.
 */
static void write_failed (int err) __attribute__ ((noreturn));

static void
write_failed (int err)
{
  if (err == EPIPE) {
    signal (SIGPIPE, SIG_DFL);
    raise (SIGPIPE);
  }
  fprintf (stderr, "blksum: write error: %s\n", strerror (err));
  exit (EXIT_TROUBLE);
}

/* Returns the exit status. */
static int
compare (const struct options *options)
{
  struct difference difference;
  struct error error = { "" };
  const char *operand;
  int err;

  if (job_compare (options, &difference, &operand, &error) == -1) {
    report (operand, &error);
    return EXIT_TROUBLE;
  }
  err = options->quiet ? 0 : difference_print (options, &difference);
  if (err)
    write_failed (err);
  free (difference.ranges);
  return difference.differ ? EXIT_FAILURE : EXIT_SUCCESS;
}

int
main (int argc, char *argv[])
{
  struct options options;
  int i, status = EXIT_SUCCESS;

  occupy_standard_fds ();
  options_parse (&options, argc, argv);
  signal (SIGPIPE, SIG_IGN);
  signal (SIGCHLD, SIG_DFL);    /* a parent may have ignored it */

  if (options.compare) {
    status = compare (&options);
    options.nr_operands = 0;
  }
  for (i = 0; i < options.nr_operands; i++) {
    const char *name = options.operands[i];
    struct error error = { "" };
    struct sum sum;
    int err;

    if (options.nr_operands > 1)
      options.progress_name = name;
    if (job_hash (&options, name, &sum, &error) == -1) {
      report (name, &error);
      status = EXIT_TROUBLE;
      continue;
    }
    if (manifest_file_is_stdout (options.manifest))
      continue;
    err = output_sum (&options, name, &sum);
    blkhash_opts_free (sum.hash);
    if (err)
      write_failed (err);
  }
  options_free (&options);
  return status;
}
