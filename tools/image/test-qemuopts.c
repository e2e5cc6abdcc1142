/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test the options for qemu, with file names that qemu could misinterpret.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "image/layer.h"
#include "image/qemuopts.h"

static void
assert_and_free (char *string, const char *expected)
{
  assert_non_null (string);
  assert_string_equal (string, expected);
  free (string);
}

/* Check the result of qemuopts_target for the tree OPTIONS, and drop the
 * caller's reference.
 */
static void
assert_target (struct json_object *options, bool force_share,
               const char *expected)
{
  assert_non_null (options);
  assert_and_free (qemuopts_target (options, force_share), expected);
  json_object_put (options);
}

static void
test_of_file (void **state)
{
  (void) state;

  assert_target (qemuopts_of_file ("vdi", "/proc/self/fd/9", false, true), true,
                 "json:{\"driver\":\"vdi\",\"file\":{\"driver\":\"file\","
                 "\"filename\":\"/proc/self/fd/9\"},\"backing\":null,"
                 "\"read-only\":\"on\",\"force-share\":\"on\"}");
  assert_target (qemuopts_of_file ("vdi", "a,b\"c\\d\ne\x7f\xc3\xa4", true,
                                   false), false,
                 "json:{\"driver\":\"vdi\",\"file\":{"
                 "\"driver\":\"host_device\","
                 "\"filename\":\"a,b\\\"c\\\\d\\u000ae\\u007f\xc3\xa4\"},"
                 "\"read-only\":\"on\"}");
}

/* Text that qemu does not accept in JSON, and similar text that it accepts. */
static void
test_string (void **state)
{
  static const char *const names[] = {
    "caf\xe9", "\x80", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
    "\xef\xb7\x90", "\xef\xb7\xaf", "\xef\xbf\xbe", "x\xef\xbf\xbfx",
    "\xf0\x9f\xbf\xbe", "\xf4\x8f\xbf\xbf", "\xc3",
  };
  static const char *const good[] = {
    "\xef\xb7\x8f", "\xef\xb7\xb0", "\xef\xbf\xbd", "\xee\xbf\xbe",
    "\xf0\x9e\xbf\xbe", "\xf4\x8f\xbf\xbd", "\xf4\x8e\xbf\xbf",
  };

  (void) state;

  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char *expected;

    assert_int_not_equal (-1, asprintf (&expected, "driver=qcow2,"
                                        "file.driver=file,file.filename=%s,"
                                        "read-only=on,force-share=on",
                                        names[i]));
    assert_target (qemuopts_of_file ("qcow2", names[i], false, false), true,
                   expected);
    free (expected);
  }
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    struct json_object *options =
      qemuopts_of_file ("qcow2", good[i], false, false);
    char *target = qemuopts_target (options, false);

    assert_true (qemuopts_is_json (target));
    free (target);
    json_object_put (options);
  }
  assert_target (qemuopts_of_file ("x,file.driver=nbd", ",a,,=,\xff", true,
                                   true), false,
                 "driver=x,,file.driver=nbd,"
                 "file.driver=host_device,file.filename=,,a,,,,=,,\xff,"
                 "backing=,read-only=on");
}

/* Parse TEXT, which is JSON, into a tree. */
static struct json_object *
tree (const char *text)
{
  return json_tokener_parse (text);
}

/* The option that is set for a vpc is in the options of its own layer. */
static void
test_vpc_size (void **state)
{
  struct layer vpc = { .format = "vpc" };
  struct layer middle = { .format = "qcow2", .backing = &vpc };
  struct layer top = { .format = "qcow2", .backing = &middle };
  struct layer none = LAYER_NONE;
  struct json_object *options = tree ("{\"driver\":\"vpc\"}");

  (void) state;

  assert_true (qemuopts_set_vpc_size (options, &vpc));
  assert_target (options, false, "json:{\"driver\":\"vpc\","
                 "\"force_size_calc\":\"current_size\",\"read-only\":\"on\"}");
  options = tree ("{\"driver\":\"qcow2\"}");
  assert_true (qemuopts_set_vpc_size (options, &top));
  assert_target (options, false, "json:{\"driver\":\"qcow2\",\"backing\":"
                 "{\"backing\":{\"force_size_calc\":\"current_size\"}},"
                 "\"read-only\":\"on\"}");
  vpc.format = "vdi";
  options = tree ("{\"driver\":\"qcow2\"}");
  assert_true (qemuopts_set_vpc_size (options, &top));
  assert_true (qemuopts_set_vpc_size (options, &none));
  assert_target (options, false, "json:{\"driver\":\"qcow2\","
                 "\"read-only\":\"on\"}");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_of_file),
    cmocka_unit_test (test_string),
    cmocka_unit_test (test_vpc_size),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
