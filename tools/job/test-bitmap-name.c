/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the sum that the name of a dirty bitmap contains is checked.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "job/changes.h"
#include "util/error.h"

static const char sum[] =
  "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef";

static void
takes (const char *name)
{
  struct error error = { "" };

  assert_int_equal (bitmap_name_check (name, sum, &error), 0);
  assert_string_equal (error.text, "");
}

static void
refuses (const char *name)
{
  struct error error = { "" };

  assert_int_equal (bitmap_name_check (name, sum, &error), -1);
  assert_non_null (strstr (error.text, sum));
  assert_non_null (strstr (error.text, name));
}

static void
test_same (void **state)
{
  char name[80] = "blk-";

  (void) state;
  takes ("blk-5f70bf18");
  takes ("blk-5F70BF18A0");
  takes ("blk-5f70bf18.1");
  takes ("blk-5f70bf18-daily");
  takes (strcat (name, sum));
}

static void
test_other (void **state)
{
  char name[80] = "blk-";

  (void) state;
  refuses ("blk-5f70bf19");
  refuses ("blk-6f70bf18");
  refuses ("blk-5f70bf18b");
  refuses ("blk-00000000-daily");
  refuses (strcat (strcat (name, sum), "0"));
}

/* Names that contain no sum are accepted. */
static void
test_none (void **state)
{
  (void) state;
  takes ("");
  takes ("b0");
  takes ("blk-");
  takes ("blk-0");
  takes ("blk-0000000");
  takes ("blk-00000000x");
  takes ("blk-deadbeefs");
  takes ("blk-/0000000000");
  takes ("BLK-00000000");
  takes ("xblk-00000000");
  takes ("00000000");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_same),
    cmocka_unit_test (test_other),
    cmocka_unit_test (test_none),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
