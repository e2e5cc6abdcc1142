/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: every task of a pool runs once, or pool_free drops it.
 */

#include <config.h>

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "hash/pool.h"

#define TASKS 2000

#define BATCH 10

struct counter {
  struct pool_task task;
  void (*run) (struct counter *counter);
  unsigned times;               /* number of runs */
};

static atomic_int ran;          /* number of tasks that ran */

static void
run_all (struct pool_task *tasks)
{
  unsigned weight = 0;

  for (struct pool_task *next, *t = tasks; t; t = next) {
    struct counter *counter = (struct counter *) t;

    next = t->next;
    weight += t->weight;
    if (weight > BATCH && t != tasks)
      abort ();
    counter->times++;
    if (counter->run)
      counter->run (counter);
    atomic_fetch_add (&ran, 1);
  }
}

static void
wait_until (atomic_int *n, int value)
{
  while (atomic_load (n) < value)
    usleep (100);
}

static void
test_all_run (void **state)
{
  static const unsigned threads[] = { 1, 2, 16, 128 };
  static struct counter tasks[TASKS];
  size_t i, t;

  (void) state;
  for (t = 0; t < sizeof threads / sizeof threads[0]; t++) {
    struct pool *pool = pool_create (threads[t], BATCH, run_all);

    atomic_store (&ran, 0);
    for (i = 0; i < TASKS; i++) {
      tasks[i].task.weight = 1 + i % (2 * BATCH);
      tasks[i].times = 0;
      pool_submit (pool, &tasks[i].task);
    }
    wait_until (&ran, TASKS);
    pool_free (pool);
    assert_int_equal (ran, TASKS);
    for (i = 0; i < TASKS; i++)
      assert_int_equal (tasks[i].times, 1);
  }
}

/* pool_free waits for the task that is running, and drops the tasks after it.
 * Here the task ends when pool_free, which has set the stop flag, calls
 * pthread_join.  MAY_END is 1 from then on, and 2 when the task has ended.
 */
static atomic_int started, may_end;

int __real_pthread_join (pthread_t thread, void **result);
int __wrap_pthread_join (pthread_t thread, void **result);

int
__wrap_pthread_join (pthread_t thread, void **result)
{
  int expected = 0;

  atomic_compare_exchange_strong (&may_end, &expected, 1);
  return __real_pthread_join (thread, result);
}

static void
block (struct counter *counter)
{
  (void) counter;
  atomic_store (&started, 1);
  while (!atomic_load (&may_end))
    usleep (100);
  atomic_store (&may_end, 2);
}

static void
test_free_drops (void **state)
{
  struct pool *pool = pool_create (1, BATCH, run_all);
  struct counter blocker = { .task.weight = 1, .run = block };
  static struct counter tasks[TASKS];
  size_t i;

  (void) state;
  atomic_store (&ran, 0);
  atomic_store (&may_end, 0);
  pool_submit (pool, &blocker.task);
  wait_until (&started, 1);
  for (i = 0; i < TASKS; i++) {
    tasks[i].task.weight = 1;
    pool_submit (pool, &tasks[i].task);
  }
  pool_free (pool);
  assert_int_equal (may_end, 2);
  assert_int_equal (ran, 1);
}

/* Tasks that were queued while all threads were busy run together, but a thread
 * takes no more than its share.  Here one of two threads stays busy.  The other
 * one takes half of the tasks that are left (rounded down, but at least one),
 * again and again.
 */
static atomic_int blocked, go_on, all_done;
static unsigned together[2 * BATCH]; /* number of tasks in each call */
static atomic_int calls;

static void
run_blocked (struct pool_task *tasks)
{
  if (tasks->weight == 2) {
    bool first = atomic_fetch_add (&blocked, 1) == 0;

    while (!atomic_load (first ? &go_on : &all_done))
      usleep (100);
    return;
  }
  for (struct pool_task *t = tasks; t; t = t->next)
    together[atomic_load (&calls)]++;
  atomic_fetch_add (&calls, 1);
}

static void
test_share (void **state)
{
  static const unsigned expected[] = { BATCH, BATCH / 2, 2, 1, 1, 1 };
  struct pool *pool = pool_create (2, BATCH, run_blocked);
  struct pool_task blockers[2] = { { .weight = 2 }, { .weight = 2 } };
  struct pool_task tasks[2 * BATCH];

  (void) state;
  for (size_t i = 0; i < 2; i++) {
    pool_submit (pool, &blockers[i]);
    wait_until (&blocked, i + 1);
  }
  for (size_t i = 0; i < 2 * BATCH; i++) {
    tasks[i].weight = 1;
    pool_submit (pool, &tasks[i]);
  }
  atomic_store (&go_on, 1);
  wait_until (&calls, 6);
  atomic_store (&all_done, 1);
  pool_free (pool);
  for (size_t i = 0; i < 6; i++)
    assert_int_equal (together[i], expected[i]);
}

/* The program's signals are not delivered to threads of the pool. */
static atomic_int blocked_signal;

static void
check_mask (struct pool_task *tasks)
{
  sigset_t mask;

  (void) tasks;
  pthread_sigmask (SIG_BLOCK, NULL, &mask);
  atomic_store (&blocked_signal, sigismember (&mask, SIGINT) ? 1 : 2);
}

static void
test_signals_blocked (void **state)
{
  struct pool *pool = pool_create (1, BATCH, check_mask);
  struct pool_task task = { .weight = 1 };
  sigset_t mask;

  (void) state;
  pool_submit (pool, &task);
  wait_until (&blocked_signal, 1);
  assert_int_equal (blocked_signal, 1);
  pthread_sigmask (SIG_BLOCK, NULL, &mask);
  assert_false (sigismember (&mask, SIGINT));
  pool_free (pool);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_all_run),
    cmocka_unit_test (test_free_drops),
    cmocka_unit_test (test_share),
    cmocka_unit_test (test_signals_blocked),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
