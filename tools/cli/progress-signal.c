/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SIGUSR1 requests the progress.  A thread waits for the signal, because a
 * signal handler must not print.
 */

#include <config.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "cli/progress-signal.h"

static void (*callback) (void);
static pthread_t thread;
static atomic_bool stopping;

static void
init_signal_set (sigset_t *set)
{
  sigemptyset (set);
  sigaddset (set, SIGUSR1);
}

static void *
run_thread (void *unused)
{
  sigset_t set;
  int signal;

  (void) unused;
  init_signal_set (&set);
  while (sigwait (&set, &signal) == 0 && !stopping)
    callback ();
  return NULL;
}

static void
stop (void)
{
  stopping = true;
  pthread_kill (thread, SIGUSR1);
  pthread_join (thread, NULL);
}

/* If the thread cannot be started, the signal has no effect. */
void
progress_signal_start (void (*function) (void))
{
  sigset_t set;

  init_signal_set (&set);
  pthread_sigmask (SIG_BLOCK, &set, NULL);
  callback = function;
  if (pthread_create (&thread, NULL, run_thread, NULL) == 0)
    atexit (stop);
}
