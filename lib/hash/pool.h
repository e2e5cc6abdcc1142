/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread pool with a queue of tasks.
 */

#ifndef BLKHASH_POOL_H
#define BLKHASH_POOL_H

struct pool;

/* To be embedded in the caller's task. */
struct pool_task {
  struct pool_task *next;
  unsigned weight;              /* at least 1; see pool_create */
};

/* Run all of TASKS, a list in the order of submission.  The pool does not
 * access them any more: a task can be submitted again or freed once its NEXT
 * was read.
 */
typedef void pool_run (struct pool_task *tasks);

/* At most THREADS threads are started, when there is work for them; signals are
 * blocked in them.  So that small tasks run together, a thread takes its share
 * of the queue: one task, or several with a total weight of at most BATCH.
 * Returns NULL with errno set on failure.
 */
struct pool *pool_create (unsigned threads, unsigned batch, pool_run *run);

/* Run TASK in one of the threads, in FIFO order; or in the calling thread if no
 * thread can be started.
 */
void pool_submit (struct pool *pool, struct pool_task *task);

/* Drop the tasks that have not started, wait for those that have. */
void pool_free (struct pool *pool);

#endif /* BLKHASH_POOL_H */
