/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: libnbd is loaded only once; if that fails, the next call tries
 * again.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/libnbd.h"

static bool fail;
static unsigned calls;

void *__real_dlopen (const char *name, int flags);
void *__wrap_dlopen (const char *name, int flags);

void *
__wrap_dlopen (const char *name, int flags)
{
  calls++;
  return __real_dlopen (fail ? "/nonexistent/libnbd.so.0" : name, flags);
}

static void
test_load (void **state)
{
  char reason[500] = "";

  (void) state;
  fail = true;
  assert_int_equal (libnbd_load (reason, sizeof reason), -1);
  assert_memory_equal (reason, "cannot load libnbd: ", 20);

  fail = false;
  *reason = '\0';
  assert_int_equal (libnbd_load (reason, sizeof reason), 0);
  assert_string_equal (reason, "");
  assert_non_null (libnbd.create);
  assert_int_equal (calls, 2);

  fail = true;
  assert_int_equal (libnbd_load (reason, sizeof reason), 0);
  assert_int_equal (calls, 2);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_load),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
