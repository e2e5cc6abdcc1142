/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: plans for various costs of kernels (multi-buffer implementations).
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lanes/lanes.h"

/* Kernels that are only planned and never called. */
static const struct lane_kernel x4 = { .name = "x4", .lanes = 4 };
static const struct lane_kernel x32 = { .name = "x32", .lanes = 32 };
static const struct lane_kernel x16 = { .name = "x16", .lanes = 16 };
static const struct lane_kernel x8 = { .name = "x8", .lanes = 8 };
static const struct lane_kernel other_x8 = { .name = "y8", .lanes = 8 };
static const struct lane_kernel x3 = { .name = "x3", .lanes = 3 };
static const struct lane_kernel *const kernels[] = {
  &x4, &x32, &x16, &x8, &other_x8, &x3, NULL
};
enum { X4, X32, X16, X8, OTHER_X8, X3, NR_KERNELS };

static const struct lane_hash hash = { .name = "hash", .kernels = kernels };

static struct lane_plan plan;

/* Compute the least cost of COUNT messages by trying all possible first calls.
 */
static uint64_t
least_cost (const struct lane_costs *costs, size_t count)
{
  uint64_t least[LANES_MAX + 1] = { 0 }, cost;
  size_t n, m, i;

  for (n = 1; n <= count; n++) {
    least[n] = least[n - 1] + costs->single;
    for (i = 0; i < NR_KERNELS; i++)
      for (m = 1; costs->call[i] && m <= n && m <= kernels[i]->lanes; m++) {
        cost = costs->call[i] + least[n - m];
        if (cost < least[n])
          least[n] = cost;
      }
  }
  return least[count];
}

static uint64_t
planned_cost (const struct lane_costs *costs, size_t count)
{
  uint64_t cost = 0;

  while (count > 0) {
    const size_t next = plan.next[count], kernel = plan.kernel[count];

    assert_true (next >= 1 && next <= count);
    if (kernel == LANE_NO_KERNEL) {
      assert_int_equal (next, 1);
      cost += costs->single;
    }
    else {
      assert_true (kernel < NR_KERNELS);
      assert_true (costs->call[kernel] > 0);
      assert_true (next <= kernels[kernel]->lanes);
      cost += costs->call[kernel];
    }
    count -= next;
  }
  return cost;
}

static void
check_full_group (const struct lane_costs *costs)
{
  const size_t full = plan.full_group;
  const double each = (double) least_cost (costs, full) / full;
  size_t n;

  assert_true (full >= 1 && full <= LANES_MAX);
  for (n = 1; n <= LANES_MAX; n++) {
    const double other = (double) least_cost (costs, n) / n;

    assert_true (each <= other * 1.050001);
    /* A smaller group costs more per message, or only a little less. */
    if (n < full)
      assert_true (other > each || other >= each * 0.95);
  }
}

static void
check (const struct lane_costs *costs)
{
  size_t n;

  lane_plan_make (&plan, &hash, costs);
  for (n = 1; n <= LANES_MAX; n++)
    assert_int_equal (planned_cost (costs, n), least_cost (costs, n));
  check_full_group (costs);
}

static void
test_missing (void **state)
{
  struct lane_costs costs = { .single = 100 };
  size_t n;

  (void) state;
  check (&costs);
  for (n = 1; n <= LANES_MAX; n++)
    assert_int_equal (plan.kernel[n], LANE_NO_KERNEL);
  assert_int_equal (plan.full_group, 1);

  costs.call[X3] = 120;
  check (&costs);
  assert_int_equal (plan.kernel[1], LANE_NO_KERNEL);
  assert_int_equal (plan.kernel[2], X3);
  assert_int_equal (plan.next[32], 3);
  assert_int_equal (plan.full_group, 3);
}

/* A kernel that is slower than hashing one message after another is never
 * used.  A kernel that is faster even for a single message is always used.
 */
static void
test_slow_and_fast (void **state)
{
  struct lane_costs costs = { .single = 100, .call = { [X32] = 3201 } };
  size_t n;

  (void) state;
  check (&costs);
  for (n = 1; n <= LANES_MAX; n++)
    assert_int_equal (plan.kernel[n], LANE_NO_KERNEL);
  costs.call[X32] = 3199;
  check (&costs);
  assert_int_equal (plan.kernel[31], LANE_NO_KERNEL);
  assert_int_equal (plan.kernel[32], X32);
  assert_int_equal (plan.full_group, 1); /* a group of 32 is hardly better */
  costs.call[X32] = 99;
  check (&costs);
  assert_int_equal (plan.kernel[1], X32);
  assert_int_equal (plan.next[20], 20);
  assert_int_equal (plan.full_group, 31); /* a group of 32 is hardly better */
}

/* Of plans with equal costs, the one whose first call hashes the most messages
 * is selected, and of kernels with equal costs the first one in the list.
 */
static void
test_equal (void **state)
{
  struct lane_costs costs = { .single = 100 };
  size_t n, i;

  (void) state;
  for (i = 0; i < NR_KERNELS; i++)
    costs.call[i] = kernels[i]->lanes * costs.single;
  check (&costs);
  assert_int_equal (plan.kernel[1], LANE_NO_KERNEL);
  assert_int_equal (plan.kernel[3], X3);
  assert_int_equal (plan.kernel[8], X8);
  assert_int_equal (plan.next[15], 8);
  assert_int_equal (plan.kernel[16], X16);
  assert_int_equal (plan.kernel[32], X32);
  assert_int_equal (plan.full_group, 1);

  for (i = 0; i < NR_KERNELS; i++)
    costs.call[i] = 100;
  check (&costs);
  for (n = 1; n <= LANES_MAX; n++) {
    assert_int_equal (plan.next[n], n);
    assert_int_equal (plan.kernel[n], n == 1 ? LANE_NO_KERNEL : n <= 4 ? X4
                      : X32);
  }
}

static void
test_random (void **state)
{
  struct lane_costs costs;
  size_t round, i;

  (void) state;
  srand (1);
  for (round = 0; round < 5000; round++) {
    const uint64_t unit = round % 2 ? 1 : 100000;

    costs = (struct lane_costs) { .single = unit * (1 + rand () % 300) };
    for (i = 0; i < NR_KERNELS; i++)
      if (rand () % 4)
        costs.call[i] = unit * (1 + rand () % (100 * kernels[i]->lanes));
    check (&costs);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_missing),
    cmocka_unit_test (test_slow_and_fast),
    cmocka_unit_test (test_equal),
    cmocka_unit_test (test_random),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
