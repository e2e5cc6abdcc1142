/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: numbers, lines, and which bytes are a character in UTF-8, by RFC
 * 3629.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/text.h"

/* Checks that the number at the start of TEXT is VALUE, and REST follows it. */
static void
is_number (const char *text, uint64_t value, const char *rest)
{
  uint64_t number = 55;
  const char *end = number_parse (text, &number);

  assert_non_null (end);
  assert_true (number == value);
  assert_string_equal (end, rest);
}

static void
test_number (void **state)
{
  static const char *const bad[] = {
    "", "x", " 1", "+1", "-1", "18446744073709551616",
    "18446744073709551620", "99999999999999999999999",
  };
  uint64_t number;
  size_t i;

  (void) state;
  is_number ("0", 0, "");
  is_number ("7/8", 7, "/8");
  is_number ("0x10", 0, "x10");
  is_number ("0064k", 64, "k");
  is_number ("18446744073709551615\n", UINT64_MAX, "\n");
  is_number ("000000000000000000000000000001 2", 1, " 2");
  for (i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_null (number_parse (bad[i], &number));
}

/* Checks the next line of IN, which is read into 5 bytes. */
static void
is_line (FILE *in, const char *text, size_t len, enum line_end end)
{
  char line[6] = "xxxxx";
  size_t n = 55;

  assert_int_equal (line_read (in, line, 5, &n), end);
  assert_string_equal (line, text);
  assert_int_equal (n, len);
  assert_int_equal (line[5], '\0');
}

static void
test_line (void **state)
{
  static const char text[] =
    "one\n\nfour\nfives\nmuch longer\n\r\na\0b\n\0\nend";
  FILE *in = fmemopen ((void *) text, sizeof text - 1, "r");

  (void) state;
  assert_non_null (in);
  is_line (in, "one", 3, LINE_NEWLINE);
  is_line (in, "", 0, LINE_NEWLINE);
  is_line (in, "four", 4, LINE_NEWLINE);
  is_line (in, "five", 4, LINE_LONG);
  is_line (in, "s", 1, LINE_NEWLINE);
  is_line (in, "much", 4, LINE_LONG);
  is_line (in, " lon", 4, LINE_LONG);
  is_line (in, "ger", 3, LINE_NEWLINE);
  is_line (in, "\r", 1, LINE_NEWLINE);
  is_line (in, "a", 1, LINE_NUL);
  is_line (in, "b", 1, LINE_NEWLINE);
  is_line (in, "", 0, LINE_NUL);
  is_line (in, "", 0, LINE_NEWLINE);
  is_line (in, "end", 3, LINE_FILE_END);
  is_line (in, "", 0, LINE_FILE_END);
  fclose (in);
}

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
    cmocka_unit_test (test_number),
    cmocka_unit_test (test_line),
    cmocka_unit_test (test_valid),
    cmocka_unit_test (test_invalid),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
