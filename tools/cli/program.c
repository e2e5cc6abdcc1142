/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SIGHUP, SIGINT and SIGTERM end a program immediately.  They have handlers
 * only to remove a temporary file (../lib/common/replace.c); after a handler
 * the signal has its default action.  The socket of qemu-nbd is removed by its
 * own process: see qemu/qemu-nbd.c.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/program.h"
#include "util/error.h"

const char *program_name;

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

void
program_start (const char *name)
{
  program_name = name;
  occupy_standard_fds ();
  signal (SIGPIPE, SIG_IGN);
  signal (SIGXFSZ, SIG_IGN);    /* a write fails with EFBIG */
  signal (SIGCHLD, SIG_DFL);    /* a parent may have ignored it */
}

void
program_print_version (const struct command *unused)
{
  (void) unused;
  printf ("%s (" PACKAGE_NAME ") " PACKAGE_VERSION "\n", program_name);
}

/* NAME is printed in one line: error_set replaces its newlines. */
void
report (const char *name, const struct error *error)
{
  const char *text = error->text;
  struct error prefix = { "" };

  error_set (&prefix, "%s", name);
  for (;;) {
    int len = strcspn (text, "\n");

    fprintf (stderr, "%s: %s: %.*s\n", program_name, prefix.text, len, text);
    if (text[len] == '\0')
      return;
    text += len + 1;
  }
}

void
report_write_failed (int err)
{
  if (err == EPIPE)
    die_of_broken_pipe ();
  fprintf (stderr, "%s: write error: %s\n", program_name, strerror (err));
  exit (EXIT_TROUBLE);
}

void
program_flush (void)
{
  if (fflush (stdout) == EOF || ferror (stdout))
    report_write_failed (errno ? errno : EIO);
}

void
program_write (const char *text, size_t len)
{
  errno = 0;
  program_flush ();
  while (len > 0) {
    ssize_t n = write (STDOUT_FILENO, text, len);

    if (n == -1 && errno != EINTR)
      report_write_failed (errno);
    if (n > 0) {
      text += n;
      len -= n;
    }
  }
}

/* ---- Errors in the command line ---- */

const char *usage_command;

/* The error is printed in one line: error_set replaces its newlines. */
void
usage_print (bool is_syntax, const char *fmt, ...)
{
  struct error line = { "" };
  va_list args;
  char *text;

  va_start (args, fmt);
  if (vasprintf (&text, fmt, args) == -1)
    text = NULL;
  va_end (args);
  error_set (&line, "%s", text ? text : "invalid usage");
  free (text);
  fprintf (stderr, "%s: %s", program_name, line.text);
  if (is_syntax)
    fprintf (stderr, "; try '%s%s%s --help'", program_name,
             usage_command ? " " : "", usage_command ? usage_command : "");
  fputc ('\n', stderr);
  exit (EXIT_TROUBLE);
}
