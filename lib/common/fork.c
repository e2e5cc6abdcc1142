/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include "common/fork.h"
#include "common/util.h"

pthread_mutex_t fork_lock = PTHREAD_MUTEX_INITIALIZER;
atomic_uint fork_generation;

static void
before_fork (void)
{
  pthread_mutex_lock (&fork_lock);
}

static void
after_fork_in_parent (void)
{
  pthread_mutex_unlock (&fork_lock);
}

static void
after_fork_in_child (void)
{
  atomic_fetch_add_explicit (&fork_generation, 1, memory_order_relaxed);
  pthread_mutex_unlock (&fork_lock);
}

int
fork_watch (void)
{
  static bool watching;         /* protected by the lock */
  int err = 0;
  SCOPED_LOCK (&fork_lock);

  if (!watching)
    err = pthread_atfork (before_fork, after_fork_in_parent,
                          after_fork_in_child);
  watching = err == 0;
  return err;
}
