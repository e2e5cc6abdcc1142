/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test what qemu is told to open, with names that it could misunderstand.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "image/qemuopts.h"

static void
assert_and_free (char *string, const char *expected)
{
  assert_non_null (string);
  assert_string_equal (string, expected);
  free (string);
}

static void
test_string (void **state)
{
  (void) state;

  assert_and_free (qemuopts_string ("qcow2", "a,b,,c=\"d'.img", false, false),
                   "driver=qcow2,read-only=on,file.driver=file,"
                   "file.filename=a,,b,,,,c=\"d'.img");
  assert_and_free (qemuopts_string ("x,file.driver=nbd", "f", true, true),
                   "driver=x,,file.driver=nbd,read-only=on,force-share=on,"
                   "file.driver=host_device,file.filename=f");
}

static void
test_json (void **state)
{
  (void) state;

  assert_and_free (qemuopts_json ("vdi", "/proc/self/fd/9", false, true),
                   "json:{\"driver\": \"vdi\", \"read-only\": true, "
                   "\"force-share\": true, \"backing\": null, \"file\": "
                   "{\"driver\": \"file\", "
                   "\"filename\": \"/proc/self/fd/9\"}}");
  assert_and_free (qemuopts_json ("vdi", "a,b\"c\\d\ne\x7f\xc3\xa4", true,
                                  false),
                   "json:{\"driver\": \"vdi\", \"read-only\": true, "
                   "\"force-share\": false, \"backing\": null, \"file\": "
                   "{\"driver\": \"host_device\", \"filename\": "
                   "\"a,b\\u0022c\\u005cd\\u000ae\x7f\xc3\xa4\"}}");
}

static void
test_get (void **state)
{
  static const char opts[] = "a,,driver=no,x=1,driver=old,driver=qcow2,"
    "file.filename=a,,b,,,c,empty=";
  char *name = qemuopts_string ("raw", ",a,,=,", false, false);

  (void) state;

  assert_and_free (qemuopts_get (opts, "driver"), "qcow2");
  assert_and_free (qemuopts_get (opts, "file.filename"), "a,b,");
  assert_and_free (qemuopts_get (opts, "empty"), "");
  assert_null (qemuopts_get (opts, "file"));
  assert_null (qemuopts_get (opts, "c"));
  assert_null (qemuopts_get ("", "driver"));
  assert_null (qemuopts_get ("file.filename=x,,driver=qcow2", "driver"));
  assert_and_free (qemuopts_get (name, "file.filename"), ",a,,=,");
  free (name);
}

static void
test_has (void **state)
{
  (void) state;

  assert_true (qemuopts_has ("backing=", "backing"));
  assert_true (qemuopts_has ("x=1,backing.file.filename=y", "backing"));
  assert_false (qemuopts_has ("backingx=1,x=backing", "backing"));
  assert_false (qemuopts_has ("x=,,backing=1", "backing"));
}

static void
test_child (void **state)
{
  static const char opts[] = "driver=raw,file.driver=qcow2,x,file.x=a,,,"
    "filex=1,file.file.filename=b,,";

  (void) state;

  assert_and_free (qemuopts_child (opts, "file."),
                   "driver=qcow2,x=a,,,file.filename=b,,");
  assert_and_free (qemuopts_child (opts, "file.file."), "filename=b,,");
  assert_and_free (qemuopts_child (opts, ""), opts);
  assert_and_free (qemuopts_child (opts, "backing."), "");
  assert_and_free (qemuopts_child ("a=b,", ""), "a=b");
}

static void
test_force_share (void **state)
{
  char *shared = qemuopts_force_share ("driver=raw,file.filename=a,,b,");

  (void) state;

  assert_string_equal (shared,
                       "force-share=on,driver=raw,file.filename=a,,b,");
  assert_and_free (qemuopts_get (shared, "force-share"), "on");
  assert_and_free (qemuopts_get (shared, "file.filename"), "a,b");
  free (shared);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_string),
    cmocka_unit_test (test_json),
    cmocka_unit_test (test_get),
    cmocka_unit_test (test_has),
    cmocka_unit_test (test_child),
    cmocka_unit_test (test_force_share),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
