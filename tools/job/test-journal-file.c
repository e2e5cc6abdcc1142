/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the file that is locked is the one at the path of the journal.  A
 * linker wrapper for flock replaces the file after it was opened and before it
 * is locked, like another blksum that publishes the finished manifest.
 */

#include <config.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/journal-file.h"
#include "job/overwrite.h"
#include "util/error.h"

#define PATH "test-journal-file.tmp"
#define OTHER PATH ".other"

static unsigned replacements;   /* how often flock still replaces the file */
static unsigned locks;          /* calls of flock */

int __wrap_flock (int fd, int operation);
int __real_flock (int fd, int operation);

/* Not called: these tests do not read or replace the file. */
bool
overwrite_is_empty (int fd, off_t size)
{
  (void) fd;
  (void) size;
  fail ();
  return false;
}

int
overwrite_check (int fd, const char *name, enum overwrite_policy policy,
                 const struct source *source, struct error *error)
{
  (void) fd; (void) name; (void) policy; (void) source; (void) error;
  fail ();
  return -1;
}

static void
create (const char *path)
{
  int fd = open (path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

  assert_int_not_equal (fd, -1);
  close (fd);
}

int
__wrap_flock (int fd, int operation)
{
  locks++;
  if (replacements > 0) {
    replacements--;
    create (OTHER);
    assert_int_equal (rename (OTHER, PATH), 0);
  }
  return __real_flock (fd, operation);
}

/* Open the file, which is replaced COUNT times before it is locked.  Returns
 * the error, or "".
 */
static const char *
open_replaced (struct journal_file *file, unsigned count)
{
  static struct error error;
  int r;

  error = (struct error) { "" };
  replacements = count;
  locks = 0;
  r = journal_file_open (file, PATH, &error);
  assert_int_equal (r, error_is_set (&error) ? -1 : 0);
  return error.text;
}

/* The file is opened again until the path names the locked file. */
static void
test_replaced (void **state)
{
  struct journal_file file;
  struct stat locked, at_path;
  unsigned i;

  (void) state;
  for (i = 0; i < 10; i++) {
    assert_string_equal (open_replaced (&file, i), "");
    assert_int_equal (locks, i + 1);
    assert_int_equal (fstat (file.fd, &locked), 0);
    assert_int_equal (stat (PATH, &at_path), 0);
    assert_int_equal (locked.st_ino, at_path.st_ino);
    journal_file_close (&file);
    assert_int_equal (access (PATH, F_OK), -1); /* an empty file is removed */
  }
}

/* The file is replaced before each lock.  As no lock was refused, the error
 * does not say that the file is in use.
 */
static void
test_replaced_always (void **state)
{
  struct journal_file file;

  (void) state;
  assert_string_equal (open_replaced (&file, 100),
                       "cannot lock " PATH ": it was replaced 10 times in a "
                       "row");
  assert_int_equal (locks, 10);
  assert_int_equal (unlink (PATH), 0);
}

static void
test_in_use (void **state)
{
  struct journal_file file, second;

  (void) state;
  assert_string_equal (open_replaced (&file, 0), "");
  assert_string_equal (open_replaced (&second, 0),
                       "another blksum is using " PATH);
  assert_int_equal (locks, 1);
  journal_file_close (&file);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_replaced),
    cmocka_unit_test (test_replaced_always),
    cmocka_unit_test (test_in_use),
  };

  int failed;

  unlink (PATH);
  failed = cmocka_run_group_tests (tests, NULL, NULL);
  unlink (PATH);
  unlink (OTHER);
  return failed;
}
