/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: pages_rest counts the entries up to the end of a page, or of the
 * file.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/imagefile.h"
#include "format/test-format.h"

#define ENTRY 8

static void
test_rest (void **state)
{
  /* LEFT entries from OFFSET on are wanted. */
  static const struct {
    uint64_t offset, left, expected;
  } cases[] = {
    { 0, 1000, PAGES_SIZE / ENTRY }, { 0, 3, 3 },
    { PAGES_SIZE - 2 * ENTRY, 1000, 2 },
    { PAGES_SIZE, 1000, 5 }, { PAGES_SIZE, 4, 4 },
    { PAGES_SIZE + 3 * ENTRY, 1000, 2 },
  };
  const uint64_t size = PAGES_SIZE + 5 * ENTRY;
  FILE *f = tmpfile ();
  struct file opened;
  struct imagefile file = test_image (&opened, f, size);
  struct error error = { "" };
  struct pages pages;
  unsigned i;

  (void) state;
  assert_int_equal (ftruncate (fileno (f), size), 0);
  assert_int_equal (pages_init (&pages, &file, &error), 0);
  for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    assert_non_null (pages_entry (&pages, "a table", cases[i].offset, ENTRY,
                                  &error));
    assert_int_equal (pages_rest (&pages, cases[i].offset, cases[i].left,
                                  ENTRY), cases[i].expected);
  }
  assert_null (pages_entry (&pages, "a table", size, ENTRY, &error));
  pages_destroy (&pages);
  fclose (f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_rest),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
