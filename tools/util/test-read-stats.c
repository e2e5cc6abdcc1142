/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: percentiles of latencies, compared with a sorted array of them.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "util/read-stats.h"

#define READS 1000

static int
compare (const void *a, const void *b)
{
  uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

  return (x > y) - (x < y);
}

/* The percentile is correct, or too high by at most an eighth. */
static void
check (const struct read_stats *stats, const uint64_t *sorted, unsigned n)
{
  static const double shares[] = { 0.01, 0.5, 0.99, 1 };
  size_t i;

  for (i = 0; i < sizeof shares / sizeof shares[0]; i++) {
    uint64_t latency = read_stats_latency (stats, shares[i]);
    unsigned rank = shares[i] * n;

    rank = rank < 1 ? 1 : rank + (rank < shares[i] * n);
    assert_true (latency >= sorted[rank - 1]);
    assert_true (latency <= sorted[rank - 1] + sorted[rank - 1] / 8);
  }
}

static void
test_random (void **state)
{
  uint64_t all[READS];
  unsigned round, i, n, bits;

  (void) state;
  srandom (7);
  for (round = 0; round < 100; round++) {
    struct read_stats stats = { 0 };

    n = 1 + random () % READS;
    bits = 1 + random () % 40;
    for (i = 0; i < n; i++) {
      all[i] = ((uint64_t) random () << 20 ^ random ()) &
        ((UINT64_C (1) << bits) - 1);
      read_stats_add (&stats, all[i], 1 + i % 3);
    }
    qsort (all, n, sizeof all[0], compare);
    check (&stats, all, n);
    assert_int_equal (stats.reads, n);
    assert_int_equal (stats.in_flight, n < 3 ? n : 3);
  }
}

static void
test_limits (void **state)
{
  struct read_stats stats = { 0 };

  (void) state;
  assert_int_equal (read_stats_latency (&stats, 0.5), 0);
  read_stats_add (&stats, UINT64_MAX, 1);
  assert_true (read_stats_latency (&stats, 0.5) > UINT64_C (3600000000000));
  read_stats_add (&stats, 0, 1);
  assert_int_equal (read_stats_latency (&stats, 0.5), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_limits),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
