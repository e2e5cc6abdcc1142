/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A pool of threads.  It knows nothing of its users.
 */

#ifndef BLKHASH_POOL_H
#define BLKHASH_POOL_H

struct pool;

/* Embed this in what is to be done. */
struct pool_task {
  struct pool_task *next;
  unsigned weight;              /* at least 1; see pool_create */
};

/* Do all of TASKS, a list in the order of submission.  A task can be submitted
 * again, or freed, as soon as nobody needs its NEXT here any more: the pool
 * does not touch it again.
 */
typedef void pool_run (struct pool_task *tasks);

/* Threads are started when there is work for them, at most THREADS; signals
 * are blocked in them.  A thread takes its share of what waits, so that small
 * tasks are done together: one task, or more that weigh at most BATCH.  NULL
 * with errno set on failure.
 */
struct pool *pool_create (unsigned threads, unsigned batch, pool_run *run);

/* Run TASK in one of the threads, first come, first served; or here and now if
 * not even one thread can be started.
 */
void pool_submit (struct pool *pool, struct pool_task *task);

/* Drop the tasks that have not started, wait for those that have. */
void pool_free (struct pool *pool);

#endif /* BLKHASH_POOL_H */
