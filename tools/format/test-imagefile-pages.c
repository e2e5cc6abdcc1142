/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: pages_rest counts the entries up to the end of a page, or of the
 * file.  A table that cannot be read is an error.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/imagefile.h"
#include "format/test-format.h"

#define ENTRY 8

static int read_error;          /* of file_read_table, if it is not 0 */

int __real_file_read_table (const struct file *file, void *buf, size_t len,
                            uint64_t offset);
int __wrap_file_read_table (const struct file *file, void *buf, size_t len,
                            uint64_t offset);

int
__wrap_file_read_table (const struct file *file, void *buf, size_t len,
                        uint64_t offset)
{
  if (read_error)
    memset (buf, 'x', len);
  return read_error ? read_error
                    : __real_file_read_table (file, buf, len, offset);
}

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

static void
test_read_errors (void **state)
{
  static const struct {
    int result;
    const char *expected;
  } cases[] = {
    { EIO, "cannot read a table: Input/output error" },
    { -1, "the file became shorter while it was read" },
    { 0, NULL },
  };
  const uint64_t size = 2 * PAGES_SIZE;
  FILE *f = tmpfile ();
  struct file opened;
  struct imagefile file = test_image (&opened, f, size);
  struct pages pages;
  char buf[ENTRY];

  (void) state;
  assert_int_equal (ftruncate (fileno (f), size), 0);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct error error = { "" };

    read_error = cases[i].result;
    assert_checked (imagefile_read (&file, "a table", buf, sizeof buf, 0,
                                    &error), &error, cases[i].expected);
    error = (struct error) { "" };
    assert_int_equal (pages_init (&pages, &file, &error), 0);
    assert_checked (pages_entry (&pages, "a table", 0, ENTRY, &error)
                    ? 0 : -1, &error, cases[i].expected);
    error = (struct error) { "" };
    read_error = 0;
    assert_non_null (pages_entry (&pages, "a table", 0, ENTRY, &error));
    pages_destroy (&pages);
  }
  fclose (f);
}

/* A page that could not be read is in the memory of another one, which is then
 * read again.
 */
static void
test_page_after_error (void **state)
{
  const uint64_t other = PAGES_COUNT * PAGES_SIZE, size = other + ENTRY;
  FILE *f = tmpfile ();
  struct file opened;
  struct imagefile file = test_image (&opened, f, size);
  struct error error = { "" };
  const unsigned char *entry;
  struct pages pages;

  (void) state;
  assert_int_equal (ftruncate (fileno (f), size), 0);
  assert_int_equal (pages_init (&pages, &file, &error), 0);
  assert_non_null (pages_entry (&pages, "a table", 0, ENTRY, &error));
  read_error = EIO;
  assert_null (pages_entry (&pages, "a table", other, ENTRY, &error));
  read_error = 0;
  entry = pages_entry (&pages, "a table", 0, ENTRY, &error);
  assert_non_null (entry);
  assert_int_equal (entry[0], 0);
  pages_destroy (&pages);
  fclose (f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_rest),
    cmocka_unit_test (test_read_errors),
    cmocka_unit_test (test_page_after_error),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
