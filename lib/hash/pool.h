/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A thread pool with a queue of tasks.  Any thread can submit a task.  Threads
 * are started on demand.  Stopping sets a flag, and drops the tasks that have
 * not started.
 */

#ifndef BLKHASH_POOL_H
#define BLKHASH_POOL_H

struct pool;

/* To be embedded in the caller's task. */
struct pool_task {
  struct pool_task *next;
  unsigned weight;              /* at least 1; see pool_create */
};

/* Run TASKS, a list in the order of submission; NEXT of the last is NULL.  The
 * pool no longer accesses the tasks, so this function can free a task, or have
 * it submitted again, after reading its NEXT.
 */
typedef void pool_run (struct pool_task *tasks);

/* Create a pool of at most THREADS threads, which are started when there is
 * work for them, and which block all signals.  A thread takes its share of the
 * queue at a time: one task, or several small tasks with a total weight of at
 * most BATCH.  Returns NULL with errno set on failure.
 */
struct pool *pool_create (unsigned threads, unsigned batch, pool_run *run);

/* Queue TASK for the threads, which take tasks in FIFO order.  If the pool has
 * no thread and cannot start one, run TASK in the calling thread.  Thread-safe.
 */
void pool_submit (struct pool *pool, struct pool_task *task);

/* Drop the tasks that no thread has taken, wait for the others, and free POOL.
 * No other call may run at the same time.
 */
void pool_free (struct pool *pool);

#endif /* BLKHASH_POOL_H */
