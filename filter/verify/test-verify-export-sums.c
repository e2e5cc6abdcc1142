/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: the list of checksums of the verify filter: the name by which each
 * line is found, and the lists that are refused.
 */

#include <config.h>

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "verify/test-verify-nbdkit.h"
#include "verify/verify-export.h"

#define DIGITS_16 "0123456789abcdef"
#define DIGITS_63 DIGITS_16 DIGITS_16 DIGITS_16 "0123456789abcde"
#define HEX(last) DIGITS_63 last
#define LINE(name, last) "blk-sha256/4k (" name ") = " HEX (last)
#define FOUND(last) "blk-sha256/4k = " HEX (last)

static char path[] = "/tmp/blkhash-test-XXXXXX";

static int
load (const char *text, size_t len)
{
  FILE *f = fopen (path, "w");

  assert_non_null (f);
  assert_int_equal (fwrite (text, 1, len, f), len);
  fclose (f);
  errors = 0;
  return sum_list_load (path);
}

static void
assert_loads (const char *text)
{
  if (load (text, strlen (text)) == -1)
    fail_msg ("%s", last_error);
  assert_int_equal (errors, 0);
}

/* WHY must come after the path in the message. */
static void
assert_refused (const char *text, size_t len, const char *why)
{
  char expected[300];

  assert_int_equal (load (text, len), -1);
  snprintf (expected, sizeof expected, "blkhash-verify-sums: %s: %s", path,
            why);
  if (strncmp (last_error, expected, strlen (expected)) != 0)
    fail_msg ("expected: %s\n     got: %s", expected, last_error);
  assert_int_equal (errors, 1);
  sum_list_free ();
}

/* Check that these names are not in the list. */
static void
assert_no_others (void)
{
  static const char *const names[] = { "", "0", "aa", "b", "ca", "z", "text" };
  size_t i;

  for (i = 0; i < sizeof names / sizeof names[0]; i++)
    assert_null (sum_list_find (names[i]));
}

static void
test_found (void **state)
{
  (void) state;
  assert_loads ("some text\n" LINE ("c", "3") "\n# a comment\n\n"
                LINE ("a", "1") "\n" LINE ("e", "5") "\n"
                LINE ("c", "3") "\n# unknown b: 5 bytes are missing\n"
                "\\" LINE ("d\\\\d", "4") "\n" LINE ("a", "1"));
  assert_string_equal (sum_list_find ("a"), FOUND ("1"));
  assert_string_equal (sum_list_find ("c"), FOUND ("3"));
  assert_string_equal (sum_list_find ("d\\d"), FOUND ("4"));
  assert_string_equal (sum_list_find ("e"), FOUND ("5"));
  assert_no_others ();
  sum_list_free ();
  assert_null (sum_list_find ("a"));

  /* Without a tag, the hash parameters are those of blksum. */
  assert_loads (HEX ("1") "  a");
  assert_string_equal (sum_list_find ("a"), "blk-sha256/64k = " HEX ("1"));
  sum_list_free ();

  assert_loads ("");
  assert_no_others ();
  sum_list_free ();
}

/* Digits in upper and in lower case are the same checksum. */
static void
test_case (void **state)
{
  char text[300], *upper = strdup (LINE ("a", "1")), *p = strchr (upper, '=');

  (void) state;
  for (; *p; p++)
    *p = toupper ((unsigned char) *p);
  sprintf (text, LINE ("a", "1") "\n%s\n" LINE ("b", "2") "\n", upper);
  free (upper);
  assert_loads (text);
  assert_string_equal (sum_list_find ("a"), FOUND ("1"));
  assert_string_equal (sum_list_find ("b"), FOUND ("2"));
  sum_list_free ();
}

static void
test_refused (void **state)
{
  static const struct {
    const char *text, *why;
  } lists[] = {
    { "\n" HEX ("1") "\n", "line 2: it has no name" },
    { HEX ("1") "  a\n" LINE ("a", "1"), "two sums of a" },
    { LINE ("a", "x") "\n" LINE ("b", "1") "\n", "line 1: " },
    { LINE ("b", "1") "\n" LINE ("a", "x") "\n", "line 2: " },
    { LINE ("a", "1") "\n" LINE ("a", "2") "\n", "two sums of a" },
    { LINE ("c", "1") "\n" LINE ("b", "1") "\n" LINE ("a", "1") "\n"
      LINE ("c", "2") "\n", "two sums of c" },
    { LINE ("a", "1") "\n" LINE ("c", "1") "\n" LINE ("b", "1") "\n"
      LINE ("a", "2") "\n", "two sums of a" },
  };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof lists / sizeof lists[0]; i++)
    assert_refused (lists[i].text, strlen (lists[i].text), lists[i].why);
  assert_refused ("text\0\n" LINE ("a", "1"), 6 + strlen (LINE ("a", "1")),
                  "line 1: it has a NUL character");
}

/* Tags with an unknown digest, with a digest of another length, and with an
 * invalid block size.
 */
static void
test_bad_sums (void **state)
{
  static const struct {
    const char *text, *why;
  } lists[] = {
    { "blk-sha257/4k (a) = " HEX ("1"), "line 1: unknown digest 'sha257'" },
    { "blk-sha512/4k (a) = " HEX ("1"), "line 1: it has 64 digits" },
    { "blk-sha256/5k (a) = " HEX ("1"), "line 1: its block size is not" },
    { DIGITS_16 "  a", "line 1: it has 16 digits, but sha256 sums have 64" },
  };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof lists / sizeof lists[0]; i++)
    assert_refused (lists[i].text, strlen (lists[i].text), lists[i].why);
}

static void
test_unreadable (void **state)
{
  (void) state;
  errors = 0;
  assert_int_equal (sum_list_load ("/nonexistent"), -1);
  assert_string_equal (last_error, "blkhash-verify-sums: /nonexistent: "
                       "No such file or directory");
  assert_int_equal (sum_list_load ("/"), -1);
  assert_string_equal (last_error, "blkhash-verify-sums: /: Is a directory");
  assert_int_equal (errors, 2);
  sum_list_free ();
}

static int
set_up (void **state)
{
  int fd = mkstemp (path);

  (void) state;
  return fd == -1 ? -1 : close (fd);
}

static int
tear_down (void **state)
{
  (void) state;
  return unlink (path);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_found),
    cmocka_unit_test (test_case),
    cmocka_unit_test (test_refused),
    cmocka_unit_test (test_bad_sums),
    cmocka_unit_test (test_unreadable),
  };

  return cmocka_run_group_tests (tests, set_up, tear_down);
}
