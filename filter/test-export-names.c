/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: an export is found by its name and by whether its clients use TLS,
 * and is created once.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../lib/common/cleanup.h"
#include "export.h"

#define NAMES 200

static void
test_names (void **state)
{
  static struct export *exports[NAMES][2];
  unsigned i, tls;
  char name[16];
  SCOPED_LOCK (&exports_lock);

  (void) state;
  for (i = 0; i < 2 * NAMES; i++) {
    /* Each name has an export with TLS and one without.  The first half of the
     * loop creates one of the two, and the second half the other.
     */
    unsigned n = i * 7 % NAMES;

    tls = (i < NAMES) == (n % 3 == 0);
    sprintf (name, "%u", n);
    assert_null (export_find_locked (name, tls));
    exports[n][tls] = export_get_locked (name, tls);
    assert_non_null (exports[n][tls]);
  }
  for (i = 0; i < NAMES; i++)
    for (tls = 0; tls < 2; tls++) {
      sprintf (name, "%u", i);
      assert_ptr_equal (export_find_locked (name, tls), exports[i][tls]);
      assert_ptr_equal (export_get_locked (name, tls), exports[i][tls]);
      assert_string_equal (exports[i][tls]->name, name);
      assert_int_equal (exports[i][tls]->tls, tls);
    }
}

static int
end (void **state)
{
  (void) state;
  exports_free ();
  return 0;
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_names),
  };

  return cmocka_run_group_tests (tests, NULL, end);
}
