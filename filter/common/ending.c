/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Shutdown of the server: stop connections for which nbdkit does not wait (see
 * ending.h).
 *
 * A thread that must not continue waits for the exit of the process.  The code
 * in which it waits stays in memory when nbdkit unloads this module (see -z
 * nodelete in the Makefile).  The connection is not refused instead: nbdkit
 * would then use its list of filters to free the handles of the connection, and
 * the filters may already be freed.
 */

#include <config.h>

#include <pthread.h>
#include <unistd.h>

#include "../lib/common/util.h"
#include "common/ending.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t none_inside = PTHREAD_COND_INITIALIZER;

/* Protected by lock. */
static bool is_ending;
static unsigned inside;         /* number of threads between ending_enter and
                                 * ending_leave */

void
ending_begin (void)
{
  SCOPED_LOCK (&lock);

  is_ending = true;
  while (inside > 0)
    pthread_cond_wait (&none_inside, &lock);
}

bool
ending_enter (void)
{
  SCOPED_LOCK (&lock);

  if (!is_ending)
    inside++;
  return !is_ending;
}

void
ending_leave (void)
{
  SCOPED_LOCK (&lock);

  if (--inside == 0)
    pthread_cond_signal (&none_inside);
}

static bool
has_begun (void)
{
  SCOPED_LOCK (&lock);

  return is_ending;
}

void
ending_stop_thread (void)
{
  if (has_begun ())
    for (;;)
      pause ();
}
