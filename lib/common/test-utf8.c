/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: which bytes are a character in UTF-8, by RFC 3629.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/text.h"

static void
test_valid (void **state)
{
  static const struct { const char *text; size_t len; } valid[] = {
    { "a", 1 }, { "\x7f", 1 }, { "\xc2\x80", 2 }, { "\u07ff", 2 },
    { "\u0800", 3 }, { "\xed\x9f\xbf", 3 }, { "\ue000", 3 }, { "\uffff", 3 },
    { "\U00010000", 4 }, { "\U0010ffff", 4 },
  };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof valid / sizeof valid[0]; i++)
    assert_int_equal (utf8_length (valid[i].text), valid[i].len);
}

/* Bytes that are cut off, overlong, a surrogate, or above U+10FFFF. */
static void
test_invalid (void **state)
{
  static const char *const invalid[] = {
    "\x80", "\xbf", "\xc2", "\xc2" "a", "\xe1\x80", "\xe1\x80" "a",
    "\xf1\x80\x80",
    "\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xf0\x80\x80\x80",
    "\xf0\x8f\xbf\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf4\x90\x80\x80",
    "\xf8\x88\x80\x80\x80", "\xfe", "\xff", "\xc2\xc2",
  };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof invalid / sizeof invalid[0]; i++)
    assert_int_equal (utf8_length (invalid[i]), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_valid),
    cmocka_unit_test (test_invalid),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
