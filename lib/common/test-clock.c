/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the units of the clock, and a wait that ends at a time.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/clock.h"

/* Each time is not before those that were read earlier, in any unit. */
static void
test_units (void **state)
{
  uint64_t ns = clock_ns ();
  int64_t ms = clock_ms ();
  double seconds = clock_seconds ();

  (void) state;
  assert_true ((uint64_t) ms >= ns / 1000000);
  assert_true (seconds * 1000 >= ms - 0.001);
  assert_true (clock_ns () >= (seconds - 0.001) * NS_PER_SECOND);
}

static void
test_sleep (void **state)
{
  const uint64_t ns = NS_PER_SECOND + NS_PER_SECOND / 5; /* and a rest */
  uint64_t start = clock_ns ();

  (void) state;
  clock_sleep (ns);
  assert_true (clock_ns () - start >= ns);
}

/* A wait ends with ETIMEDOUT, but not before its time; at once if its time has
 * passed.  The lock is held afterwards.
 */
static void
test_wait (void **state)
{
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  uint64_t until = clock_ns () + NS_PER_SECOND / 100;
  pthread_cond_t cond;
  int r;

  (void) state;
  clock_cond_init (&cond);
  pthread_mutex_lock (&lock);
  do
    r = clock_cond_wait (&cond, &lock, until);
  while (r == 0);
  assert_int_equal (r, ETIMEDOUT);
  assert_true (clock_ns () >= until);
  assert_int_equal (clock_cond_wait (&cond, &lock, until), ETIMEDOUT);
  assert_int_equal (pthread_mutex_trylock (&lock), EBUSY);
  pthread_mutex_unlock (&lock);
  pthread_cond_destroy (&cond);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_units),
    cmocka_unit_test (test_sleep),
    cmocka_unit_test (test_wait),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
