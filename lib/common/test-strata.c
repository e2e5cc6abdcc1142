/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the share of a sample, as users write it.  The sample itself is
 * tested by tools/util/test-ranges.c.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/strata.h"

static void
test_shares (void **state)
{
  static const struct { const char *text; uint32_t share; } shares[] = {
    { "0%", 0 },
    { "1%", 1000000 },
    { "100%", STRATA_ALL },
    { "100.000000%", STRATA_ALL },
    { "007%", 7000000 },
    { "12.5%", 12500000 },
    { "0.1%", STRATA_DEFAULT },
    { "0.25%", 250000 },
    { "0.000001%", 1 },
    { "99.987654%", 99987654 },
  };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof shares / sizeof shares[0]; i++) {
    uint32_t share = 55;

    assert_true (strata_parse_share (shares[i].text, &share));
    assert_int_equal (share, shares[i].share);
  }
}

static void
test_bad_shares (void **state)
{
  static const char *const bad[] = {
    "", "%", "1", "1 %", " 1%", "1%%", "-1%", "+1%", "1.%", ".5%", "1.2.3%",
    "0.0000001%", "100.000001%", "101%", "4294967296%", "18446744073709551617%",
    "1e1%", "a%",
  };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    uint32_t share = 55;

    assert_false (strata_parse_share (bad[i], &share));
    assert_int_equal (share, 55);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_shares),
    cmocka_unit_test (test_bad_shares),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
