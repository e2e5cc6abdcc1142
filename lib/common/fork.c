/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include "common/fork.h"

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

static int watch_error;         /* set once, when the library is loaded */

/* When the library is loaded: later, a thread could hold FORK_LOCK while it
 * installs the handlers, and another one fork without them.
 */
__attribute__ ((constructor))
static void
install_handlers (void)
{
  watch_error = pthread_atfork (before_fork, after_fork_in_parent,
                                after_fork_in_child);
}

int
fork_watch (void)
{
  return watch_error;
}
