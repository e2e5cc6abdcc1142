/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/util.h"
#include "hash/pool.h"

struct pool {
  pool_run *run;
  unsigned batch;               /* maximum total weight of several tasks in one
                                 * call of RUN; a single task can weigh more */

  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t work;          /* a task was queued, or stop was set */
  struct pool_task *head, **tail;
  unsigned queued, weight;      /* number of tasks in the list, and their total
                                 * weight */
  unsigned idle;                /* threads that wait for work */
  bool stop;
  unsigned max_threads, started;
  pthread_t threads[];
};

struct pool *
pool_create (unsigned threads, unsigned batch, pool_run *run)
{
  struct pool *pool;

  pool = calloc (1, sizeof *pool + threads * sizeof pool->threads[0]);
  if (!pool)
    return NULL;
  pool->run = run;
  pool->batch = batch;
  pthread_mutex_init (&pool->lock, NULL);
  pthread_cond_init (&pool->work, NULL);
  pool->tail = &pool->head;
  pool->max_threads = threads;
  return pool;
}

/* Take the oldest task, and as many after it as fit in this thread's share of
 * the queued weight, or in BATCH if that is less.  The other tasks are left to
 * the other threads.
 */
static struct pool_task *
take_share_locked (struct pool *pool)
{
  unsigned share = MIN (pool->weight / pool->max_threads, pool->batch);
  unsigned taken = 0;
  struct pool_task *first = pool->head, *last;

  do {
    last = pool->head;
    pool->head = last->next;
    pool->queued--;
    taken += last->weight;
  } while (pool->head && taken + pool->head->weight <= share);
  last->next = NULL;
  pool->weight -= taken;
  if (!pool->head)
    pool->tail = &pool->head;
  return first;
}

/* Returns the next tasks, or NULL when the pool stops. */
static struct pool_task *
next_tasks (struct pool *pool)
{
  SCOPED_LOCK (&pool->lock);

  pool->idle++;
  while (!pool->head && !pool->stop)
    pthread_cond_wait (&pool->work, &pool->lock);
  pool->idle--;
  return pool->stop ? NULL : take_share_locked (pool);
}

static void *
worker (void *arg)
{
  struct pool *pool = arg;
  struct pool_task *tasks;

  while ((tasks = next_tasks (pool)))
    pool->run (tasks);
  return NULL;
}

/* Block all signals, so that the program's handlers do not run in the threads
 * of the pool.
 */
static void
start_thread_locked (struct pool *pool)
{
  sigset_t all, old;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &old);
  if (pthread_create (&pool->threads[pool->started], NULL, worker, pool) == 0)
    pool->started++;
  pthread_sigmask (SIG_SETMASK, &old, NULL);
}

/* Returns false if the pool has no thread, and none could be started. */
static bool
queue_task (struct pool *pool, struct pool_task *task)
{
  SCOPED_LOCK (&pool->lock);

  /* A thread counts as idle until it has taken a task.  So compare IDLE with
   * QUEUED, not with 0; otherwise one idle thread would seem sufficient for all
   * tasks of a burst.
   */
  if (pool->idle <= pool->queued && pool->started < pool->max_threads)
    start_thread_locked (pool);
  if (pool->started == 0)
    return false;

  *pool->tail = task;
  pool->tail = &task->next;
  pool->queued++;
  pool->weight += task->weight;
  pthread_cond_signal (&pool->work);
  return true;
}

void
pool_submit (struct pool *pool, struct pool_task *task)
{
  task->next = NULL;
  if (!queue_task (pool, task))
    pool->run (task);
}

void
pool_free (struct pool *pool)
{
  unsigned i;

  if (!pool)
    return;
  {
    SCOPED_LOCK (&pool->lock);

    pool->stop = true;
    pthread_cond_broadcast (&pool->work);
  }
  for (i = 0; i < pool->started; i++)
    pthread_join (pool->threads[i], NULL);
  pthread_cond_destroy (&pool->work);
  pthread_mutex_destroy (&pool->lock);
  free (pool);
}
