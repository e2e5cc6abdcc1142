/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SIGHUP, SIGINT and SIGTERM end a program immediately.  They have handlers
 * only to remove a temporary file (io/new-file.c); after a handler the signal
 * has its default action.  The socket of qemu-nbd is removed by its own process:
 * see qemu/nbd-process.c.
 */

#include <config.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/program.h"

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
program_print_version (void)
{
  printf ("%s (" PACKAGE_NAME ") " PACKAGE_VERSION "\n", program_name);
}
