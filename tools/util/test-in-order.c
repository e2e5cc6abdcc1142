/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: items are in flight at the same time, use their slots, and are
 * delivered in order; some of them are processed alone.
 */

#include <config.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../lib/common/cleanup.h"
#include "util/in-order.h"

#define NONE SIZE_MAX

static struct {
  size_t stop_at;               /* deliver returns false for this item */
  size_t together;              /* items wait until this number has begun */
  size_t hold;                  /* the item that waits until the next
                                 * IN_ORDER_MAX - 1 items are done */
  size_t alone_every;           /* multiples of this are processed alone; 0:
                                 * none */

  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t changed;
  size_t begun, done, alone, delivered;
  size_t slots[IN_ORDER_MAX];   /* the item in the slot, or NONE */
} test;

static unsigned threads_allowed, nr_threads;

int __real_pthread_create (pthread_t *thread, const pthread_attr_t *attr,
                           void *(*run) (void *), void *opaque);
int __wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attr,
                           void *(*run) (void *), void *opaque);
int __real_pthread_join (pthread_t thread, void **result);
int __wrap_pthread_join (pthread_t thread, void **result);

int
__wrap_pthread_create (pthread_t *thread, const pthread_attr_t *attr,
                       void *(*run) (void *), void *opaque)
{
  if (threads_allowed == 0)
    return EAGAIN;
  threads_allowed--;
  nr_threads++;
  return __real_pthread_create (thread, attr, run, opaque);
}

int
__wrap_pthread_join (pthread_t thread, void **result)
{
  nr_threads--;
  return __real_pthread_join (thread, result);
}

static int
setup (void **state)
{
  (void) state;
  threads_allowed = UINT_MAX;
  test.stop_at = test.hold = NONE;
  test.together = test.alone_every = 0;
  pthread_mutex_init (&test.lock, NULL);
  pthread_cond_init (&test.changed, NULL);
  test.begun = test.done = test.alone = test.delivered = 0;
  for (int i = 0; i < IN_ORDER_MAX; i++)
    test.slots[i] = NONE;
  return 0;
}

static int
teardown (void **state)
{
  (void) state;
  pthread_cond_destroy (&test.changed);
  pthread_mutex_destroy (&test.lock);
  return 0;
}

static bool
is_alone (size_t i)
{
  return test.alone_every > 0 && i % test.alone_every == 0;
}

static bool
work (void *opaque, size_t i, unsigned slot)
{
  SCOPED_LOCK (&test.lock);

  assert_ptr_equal (opaque, &test);
  assert_int_equal (test.slots[slot], NONE);
  if (!is_alone (i))
    test.slots[slot] = i;
  test.begun++;
  pthread_cond_broadcast (&test.changed);
  while (test.begun < test.together ||
         (i == test.hold && test.done < i + IN_ORDER_MAX - 1))
    pthread_cond_wait (&test.changed, &test.lock);
  test.done++;
  pthread_cond_broadcast (&test.changed);
  return !is_alone (i);
}

static void
work_alone (void *opaque, size_t i, unsigned slot)
{
  assert_ptr_equal (opaque, &test);
  assert_int_equal (nr_threads, 0);
  assert_int_equal (i, test.delivered);
  assert_int_equal (test.slots[slot], NONE);
  test.slots[slot] = i;
  test.alone++;
}

static bool
deliver (void *opaque, size_t i, unsigned slot)
{
  SCOPED_LOCK (&test.lock);

  assert_ptr_equal (opaque, &test);
  assert_int_equal (i, test.delivered);
  assert_int_equal (test.slots[slot], i);
  /* At most IN_ORDER_MAX items from item I on have begun. */
  assert_true (test.begun <= i + IN_ORDER_MAX);
  test.slots[slot] = NONE;
  test.delivered++;
  return i != test.stop_at;
}

static bool
run (size_t count)
{
  const struct in_order in_order = {
    .count = count, .work = work, .work_alone = work_alone,
    .deliver = deliver, .opaque = &test
  };

  return in_order_run (&in_order);
}

static void
test_order (void **state)
{
  static const size_t counts[] = { 0, 1, 2, IN_ORDER_MAX, IN_ORDER_MAX + 1,
                                   1000 };
  size_t i;

  for (i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    setup (state);
    assert_true (run (counts[i]));
    assert_int_equal (test.delivered, counts[i]);
    teardown (state);
  }
  setup (state);
}

/* This hangs if fewer than IN_ORDER_MAX items are in flight. */
static void
test_together (void **state)
{
  (void) state;
  test.together = IN_ORDER_MAX;
  assert_true (run (100));
  assert_int_equal (test.delivered, 100);
}

/* Items after a slow item are processed as long as there are free slots. */
static void
test_slow (void **state)
{
  (void) state;
  test.hold = 20;
  assert_true (run (100));
  assert_int_equal (test.delivered, 100);
}

static void
test_stop (void **state)
{
  (void) state;
  test.stop_at = 5;
  assert_false (run (1000));
  assert_int_equal (test.delivered, 6);
  assert_true (test.begun <= 6 + IN_ORDER_MAX);
  assert_int_equal (test.begun, test.done);
}

static void
test_alone (void **state)
{
  static const size_t every[] = { 1, 2, 7, IN_ORDER_MAX, IN_ORDER_MAX + 1, 99 };
  size_t i;

  for (i = 0; i < sizeof every / sizeof every[0]; i++) {
    setup (state);
    test.alone_every = every[i];
    assert_true (run (1000));
    assert_int_equal (test.delivered, 1000);
    assert_int_equal (test.begun, 1000);
    assert_int_equal (test.alone, (1000 + every[i] - 1) / every[i]);
    assert_int_equal (nr_threads, 0);
    teardown (state);
  }
  setup (state);
  test.alone_every = test.stop_at = 50;
  assert_false (run (1000));
  assert_int_equal (test.delivered, 51);
  assert_int_equal (test.begun, test.done);
}

static void
test_few_threads (void **state)
{
  (void) state;
  threads_allowed = 1;
  assert_true (run (100));
  assert_int_equal (test.delivered, 100);
}

static void
test_no_threads (void **state)
{
  (void) state;
  threads_allowed = 0;
  assert_true (run (100));
  assert_int_equal (test.delivered, 100);
  assert_int_equal (test.alone, 100);
  teardown (state);
  setup (state);
  threads_allowed = 0;
  test.stop_at = 50;
  assert_false (run (100));
  assert_int_equal (test.delivered, 51);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_order, setup, teardown),
    cmocka_unit_test_setup_teardown (test_together, setup, teardown),
    cmocka_unit_test_setup_teardown (test_slow, setup, teardown),
    cmocka_unit_test_setup_teardown (test_stop, setup, teardown),
    cmocka_unit_test_setup_teardown (test_alone, setup, teardown),
    cmocka_unit_test_setup_teardown (test_few_threads, setup, teardown),
    cmocka_unit_test_setup_teardown (test_no_threads, setup, teardown),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
