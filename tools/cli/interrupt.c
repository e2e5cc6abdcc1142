/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * When a job is interrupted, print the command that resumes it.
 *
 * A signal handler can call only async-signal-safe functions, so the text is
 * prepared in advance.
 */

#include <config.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/common/memstream.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/shell-word.h"

static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
#define SIGNALS (sizeof signals / sizeof signals[0])

/* The text that the handler prints.  Set before the handler is installed, and
 * never freed, because the handler may still run in another thread.
 */
static char *text;
static size_t len;
static pid_t owner;             /* the process that prints TEXT; its forked
                                 * children do not */
static struct sigaction before[SIGNALS]; /* the actions to restore */

/* SIG is blocked until this handler returns.  Only then does raise take effect,
 * with the previous action.
 */
static void
handle_signal (int sig)
{
  size_t i;
  ssize_t r;

  if (getpid () == owner) {
    r = write (STDERR_FILENO, text, len);
    (void) r;
  }
  for (i = 0; i < SIGNALS; i++)
    if (signals[i] == sig)
      sigaction (sig, &before[i], NULL);
  raise (sig);
}

static void
print_command (FILE *out, const struct options *options)
{
  int i;

  /* End the line of the progress bar. */
  if (options->progress.bar && options->progress.fd == STDERR_FILENO)
    putc ('\n', out);
  fputs ("blksum: to continue:", out);
  for (i = 0; i < options->argc; i++) {
    putc (' ', out);
    shell_word_print (out, options->argv[i]);
  }
  putc ('\n', out);
}

void
interrupt_prepare (const struct options *options)
{
  FILE *out = open_memstream (&text, &len);

  if (!out)
    return;
  print_command (out, options);
  if (memstream_close (out, &text))
    owner = getpid ();
}

static void
install_handlers (void)
{
  struct sigaction action = { .sa_handler = handle_signal };
  size_t i;

  for (i = 0; i < SIGNALS; i++)
    if (sigaction (signals[i], NULL, &before[i]) == 0 &&
        before[i].sa_handler != SIG_IGN)
      sigaction (signals[i], &action, NULL);
}

static void
restore_handlers (void)
{
  struct sigaction now;
  size_t i;

  for (i = 0; i < SIGNALS; i++)
    if (sigaction (signals[i], NULL, &now) == 0 &&
        now.sa_handler == handle_signal)
      sigaction (signals[i], &before[i], NULL);
}

void
interrupt_set_resumable (bool resumable)
{
  if (!owner)
    return;
  if (resumable)
    install_handlers ();
  else
    restore_handlers ();
}
