/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What remains valid in the child of fork(2).
 *
 * The child has only the thread that called fork, but a copy of the memory of
 * all threads.  So a mutex that another thread held stays locked for ever, and
 * a call that waits for another thread never returns.  This concerns every
 * object with a lock or with threads.  Such an object records the generation of
 * the process that created it, and its functions return at once if this is not
 * the generation of the calling process.  A handler of pthread_atfork
 * increments the generation in the child, so a call costs no system call, as
 * getpid would.
 *
 * An object cannot be repaired in the child: another thread may have been in
 * the middle of changing it.
 */

#ifndef BLKHASH_FORK_H
#define BLKHASH_FORK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Protects what all objects of the process share.  No thread but that which
 * forks holds it during fork, so that the child can create objects.
 */
extern pthread_mutex_t fork_lock;

/* Changed only by the handler in the child, before that has other threads. */
extern atomic_uint fork_generation;

/* Every constructor of an object that can be used in another thread calls this
 * first.  Returns 0, or ENOMEM if the handlers could not be installed when the
 * library was loaded.  Thread-safe.
 */
int fork_watch (void);

/* Returns the generation of the calling process, for a new object to record. */
static inline unsigned
fork_current (void)
{
  return atomic_load_explicit (&fork_generation, memory_order_relaxed);
}

/* Was an object of this GENERATION created by a parent of this process? */
static inline bool
fork_is_inherited (unsigned generation)
{
  return generation != fork_current ();
}

#endif /* BLKHASH_FORK_H */
