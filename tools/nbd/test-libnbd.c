/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: libnbd is loaded only once; if that fails, the next call tries
 * again.  The text of an error of libnbd is returned without the name of the
 * function.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nbd/libnbd.h"

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

/* ---- Errors ---- */

static const char *last_error;

static const char *
get_error (void)
{
  return last_error;
}

static void
is_error (const char *text, const char *expected)
{
  last_error = text;
  assert_string_equal (nbd_error_text (), expected);
}

/* Only the name of a function of libnbd is left out. */
static void
test_error_text (void **state)
{
  (void) state;
  libnbd.get_error = get_error;
  is_error ("nbd_opt_go: server refused", "server refused");
  is_error ("nbd_connect_uri2: connect: timeout", "connect: timeout");
  is_error ("nbd_pread failed: reason", "nbd_pread failed: reason");
  is_error ("connect: timeout", "connect: timeout");
  is_error ("mbd_x: reason", "mbd_x: reason");
  is_error ("timeout", "timeout");
  is_error (NULL, "the server closed the connection");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_load),
    cmocka_unit_test (test_error_text),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
