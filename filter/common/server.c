/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The start and the shutdown of the server.  See server.h.
 */

#include <config.h>

#include <pthread.h>
#include <unistd.h>

#include "../lib/common/util.h"
#include "common/server.h"

static unsigned loaded;         /* instances on the command line */

void
server_load (void)
{
  loaded++;
}

int
server_check_single (const char *name)
{
  if (loaded <= 1)
    return 0;
  nbdkit_error ("--filter=%s can be given only once", name);
  return -1;
}

bool
server_unload (void)
{
  return --loaded == 0;
}

/* ---- Shutdown ---- */

static pthread_mutex_t ending_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t none_inside = PTHREAD_COND_INITIALIZER;

/* Protected by ending_lock. */
static bool is_ending;
static unsigned inside;         /* number of threads between ending_enter and
                                 * ending_leave */

void
ending_begin (void)
{
  SCOPED_LOCK (&ending_lock);

  is_ending = true;
  while (inside > 0)
    pthread_cond_wait (&none_inside, &ending_lock);
}

bool
ending_enter (void)
{
  SCOPED_LOCK (&ending_lock);

  if (!is_ending)
    inside++;
  return !is_ending;
}

void
ending_leave (void)
{
  SCOPED_LOCK (&ending_lock);

  if (--inside == 0)
    pthread_cond_signal (&none_inside);
}

static bool
has_begun (void)
{
  SCOPED_LOCK (&ending_lock);

  return is_ending;
}

int
server_preconnect (nbdkit_next_preconnect *next, nbdkit_backend *nxdata,
                   int readonly)
{
  if (has_begun ())
    for (;;)
      pause ();
  return next (nxdata, readonly);
}
