/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: which parts of requests in flight are tainted (see disk.h).
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "blkhash/disk.h"

static struct inflight inflight;
static struct request first, second, third;

static int
setup (void **state)
{
  (void) state;
  memset (&inflight, 0, sizeof inflight);
  return 0;
}

static void
begin (struct request *request, bool change, uint64_t offset, uint64_t end)
{
  inflight_begin (&inflight, request, change, offset, end - offset);
  assert_true (request->tracked);
}

/* The tainted part of REQUEST is from OFFSET to END, or empty if they are
 * equal.
 */
static void
assert_tainted (const struct request *request, uint64_t offset, uint64_t end)
{
  assert_true (inflight_is_tainted (request) == (offset < end));
  if (offset < end) {
    assert_int_equal (request->taint, offset);
    assert_int_equal (request->taint_end, end);
  }
  else
    assert_int_equal (request->taint, request->taint_end);
}

static void
test_reads (void **state)
{
  (void) state;
  begin (&first, false, 0, 100);
  begin (&second, false, 50, 150);
  assert_tainted (&first, 0, 0);
  assert_tainted (&second, 0, 0);
  inflight_end (&inflight, &first);
  inflight_end (&inflight, &second);
}

/* Requests that overlap, of which one or both are changes. */
static void
test_overlap (void **state)
{
  unsigned kinds;

  (void) state;
  for (kinds = 1; kinds < 4; kinds++) {
    begin (&first, kinds & 1, 0, 100);
    begin (&second, kinds & 2, 60, 150);
    assert_tainted (&first, 60, 100);
    assert_tainted (&second, 60, 100);
    begin (&third, true, 10, 20);
    assert_tainted (&first, 10, 100);
    assert_tainted (&second, 60, 100);
    assert_tainted (&third, 10, 20);
    inflight_end (&inflight, &third);
    inflight_end (&inflight, &first);
    begin (&third, true, 20, 60); /* FIRST has ended */
    assert_tainted (&third, 0, 0);
    inflight_end (&inflight, &second);
    inflight_end (&inflight, &third);
    assert_null (inflight.reads);
    assert_null (inflight.changes);
  }
}

static void
test_neighbours (void **state)
{
  (void) state;
  begin (&first, true, 0, 100);
  begin (&second, true, 100, 200);
  begin (&third, false, 200, 300);
  assert_tainted (&first, 0, 0);
  assert_tainted (&second, 0, 0);
  assert_tainted (&third, 0, 0);
  inflight_end (&inflight, &second);
  inflight_end (&inflight, &first);
  inflight_end (&inflight, &third);
}

static void
test_taint_reads (void **state)
{
  (void) state;
  begin (&first, false, 0, 100);
  begin (&second, false, 50, 150);
  begin (&third, true, 200, 300);
  inflight_taint_reads (&inflight, 100, 300);
  assert_tainted (&first, 0, 0);
  assert_tainted (&second, 100, 150);
  assert_tainted (&third, 0, 0);
  inflight_taint_reads (&inflight, 40, 51);
  assert_tainted (&first, 40, 51);
  assert_tainted (&second, 50, 150);
  inflight_end (&inflight, &first);
  inflight_end (&inflight, &second);
  inflight_end (&inflight, &third);
}

static void
test_taint_by (void **state)
{
  (void) state;
  begin (&first, false, 0, 100);
  begin (&second, false, 0, 100);
  begin (&third, true, 200, 300);
  first.by = third.by = &first;
  second.by = &second;
  inflight_taint_by (&inflight, &first);
  assert_tainted (&first, 0, 100);
  assert_tainted (&second, 0, 0);
  assert_tainted (&third, 200, 300);
  inflight_end (&inflight, &first);
  inflight_end (&inflight, &second);
  inflight_end (&inflight, &third);
}

static void
test_replaced (void **state)
{
  (void) state;
  begin (&first, true, 0, 100);
  assert_int_equal (first.unproven, first.unproven_end);
  inflight_add_unproven (&first, 20, 30);
  assert_int_equal (first.unproven, 20);
  assert_int_equal (first.unproven_end, 30);
  inflight_add_unproven (&first, 50, 60);
  inflight_add_unproven (&first, 40, 45);
  assert_int_equal (first.unproven, 20);
  assert_int_equal (first.unproven_end, 60);
  inflight_add_unproven (&first, 10, 20);
  assert_int_equal (first.unproven, 10);
  assert_int_equal (first.unproven_end, 60);
  inflight_end (&inflight, &first);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup (test_reads, setup),
    cmocka_unit_test_setup (test_overlap, setup),
    cmocka_unit_test_setup (test_neighbours, setup),
    cmocka_unit_test_setup (test_taint_reads, setup),
    cmocka_unit_test_setup (test_taint_by, setup),
    cmocka_unit_test_setup (test_replaced, setup),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
