/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: zero detection detects a single set bit in any byte.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/zero.h"

#define MAX_LEN 300

static void
test_empty (void **state)
{
  (void) state;
  assert_true (is_zero ("x", 0));
}

/* For many lengths and each alignment modulo 16, set one bit in each byte in
 * turn.  The buffer ends where its allocation ends, so a sanitizer or valgrind
 * detects reads beyond it.
 */
static void
test_every_byte (void **state)
{
  size_t align, len, i;

  (void) state;
  for (align = 0; align < 16; align++)
    for (len = 1; len < MAX_LEN; len += len < 40 ? 1 : 37) {
      unsigned char *memory = calloc (1, align + len);
      unsigned char *buf = memory + align;

      assert_non_null (memory);
      assert_true (is_zero (buf, len));
      for (i = 0; i < len; i++) {
        buf[i] = 1 << (i % 8);
        assert_false (is_zero (buf, len));
        buf[i] = 0;
      }
      free (memory);
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_empty),
    cmocka_unit_test (test_every_byte),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
