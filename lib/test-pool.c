/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: every task of a pool runs once, or is dropped when it stops.
 */

#include <config.h>

#include <setjmp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "pool.h"

#define TASKS 2000

struct counter {
  struct pool_task task;
  atomic_int *ran;
};

static void
count (struct pool_task *task)
{
  atomic_fetch_add (((struct counter *) task)->ran, 1);
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
    struct pool *pool = pool_create (threads[t]);
    atomic_int ran = 0;

    for (i = 0; i < TASKS; i++) {
      tasks[i].task.run = count;
      tasks[i].ran = &ran;
      pool_submit (pool, &tasks[i].task);
    }
    wait_until (&ran, TASKS);
    pool_free (pool);
    assert_int_equal (ran, TASKS);
  }
}

/* A task that runs while the pool is freed is waited for, and those behind it
 * never run.
 */
static atomic_int started, may_end;

static void
block (struct pool_task *task)
{
  (void) task;
  atomic_store (&started, 1);
  while (!atomic_load (&may_end))
    usleep (100);
  usleep (20000);
  atomic_store (&may_end, 2);
}

static void
test_free_drops (void **state)
{
  struct pool *pool = pool_create (1);
  struct pool_task blocker = { .run = block };
  static struct counter tasks[TASKS];
  atomic_int ran = 0;
  size_t i;

  (void) state;
  pool_submit (pool, &blocker);
  wait_until (&started, 1);
  for (i = 0; i < TASKS; i++) {
    tasks[i].task.run = count;
    tasks[i].ran = &ran;
    pool_submit (pool, &tasks[i].task);
  }
  atomic_store (&may_end, 1);
  pool_free (pool);
  assert_int_equal (may_end, 2);
  assert_int_equal (ran, 0);
}

/* The program's signals are not delivered to threads of the pool. */
static atomic_int blocked_signal;

static void
look_at_mask (struct pool_task *task)
{
  sigset_t mask;

  (void) task;
  pthread_sigmask (SIG_BLOCK, NULL, &mask);
  atomic_store (&blocked_signal, sigismember (&mask, SIGINT) ? 1 : 2);
}

static void
test_signals_blocked (void **state)
{
  struct pool *pool = pool_create (1);
  struct pool_task task = { .run = look_at_mask };
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
    cmocka_unit_test (test_signals_blocked),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
