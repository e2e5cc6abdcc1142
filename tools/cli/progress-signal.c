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

static void (*tell) (void);
static pthread_t thread;
static atomic_bool stopping;

static void
asked (sigset_t *set)
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
  asked (&set);
  while (sigwait (&set, &signal) == 0 && !stopping)
    tell ();
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
progress_signal_answer (void (*answer) (void))
{
  sigset_t set;

  asked (&set);
  pthread_sigmask (SIG_BLOCK, &set, NULL);
  tell = answer;
  if (pthread_create (&thread, NULL, run_thread, NULL) == 0)
    atexit (stop);
}
