/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A pool of threads.  It knows nothing of its users.
 */

#ifndef BLKHASH_POOL_H
#define BLKHASH_POOL_H

struct pool;

/* Embed this in what RUN works on.  A task can be submitted again once it
 * runs; the pool does not touch it after it called RUN.
 */
struct pool_task {
  void (*run) (struct pool_task *task);
  struct pool_task *next;
};

/* Threads are started when there is work for them, at most THREADS; signals
 * are blocked in them.  NULL with errno set on failure.
 */
struct pool *pool_create (unsigned threads);

/* Run TASK in one of the threads, first come, first served; or here and now if
 * not even one thread can be started.
 */
void pool_submit (struct pool *pool, struct pool_task *task);

/* Drop the tasks that have not started, wait for those that have. */
void pool_free (struct pool *pool);

#endif /* BLKHASH_POOL_H */
