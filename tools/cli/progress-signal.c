/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * SIGUSR1 asks how far it is: a thread waits for that, which may print, as no
 * signal handler may.
 */

#include <config.h>

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#include "cli/progress.h"
#include "cli/progress-signal.h"

static void
asked (sigset_t *set)
{
  sigemptyset (set);
  sigaddset (set, SIGUSR1);
}

static void *
answer (void *unused)
{
  sigset_t set;
  int signal;

  (void) unused;
  asked (&set);
  for (;;)
    if (sigwait (&set, &signal) == 0)
      progress_tell ();
  return NULL;
}

/* Without that thread nobody answers, and no harm is done. */
void
progress_signal_start (void)
{
  pthread_attr_t attr;
  pthread_t thread;
  sigset_t set;

  asked (&set);
  pthread_sigmask (SIG_BLOCK, &set, NULL);
  pthread_attr_init (&attr);
  pthread_attr_setdetachstate (&attr, PTHREAD_CREATE_DETACHED);
  pthread_create (&thread, &attr, answer, NULL);
  pthread_attr_destroy (&attr);
}
