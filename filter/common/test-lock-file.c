/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: only one server holds the lock of an output file, even if the
 * holder removes the lock file after another server opened it.  When the holder
 * unlocks, the lock file is removed.  A lock file that cannot be examined is an
 * error, and so is one that is removed again and again, or whose inode number
 * differs from that of its descriptor.
 *
 * One process acts as both servers: flock treats two open file descriptions
 * alike, whether or not they belong to one process.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash/test-locks.h"
#include "blkhash/test-nbdkit.h"
#include "common/lock-file.h"

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char path[sizeof directory + 5];
static char lock_path[sizeof path + 13];

static struct lock_file a, b;

static int
try_lock (struct lock_file *lock)
{
  return lock_file_lock (lock, "blkhash-file", path);
}

static bool
lock_file_exists (void)
{
  return access (lock_path, F_OK) == 0;
}

static void
test_held (void **state)
{
  unsigned reported = errors_reported ();

  (void) state;
  assert_int_equal (try_lock (&a), 0);
  assert_int_equal (try_lock (&b), -1);
  assert_int_equal (errors_reported (), reported + 1);
  lock_file_unlock (&b);        /* B does not hold the lock */
  assert_true (lock_file_exists ());
  assert_int_equal (try_lock (&b), -1);
  lock_file_unlock (&a);
  assert_false (lock_file_exists ());
  assert_int_equal (try_lock (&b), 0);
  lock_file_unlock (&b);
  assert_false (lock_file_exists ());
}

/* ---- A lock file that is removed before flock ---- */

static unsigned calls, lock_again;

/* Before the first flock of B, A unlocks, which removes the lock file.  If
 * LOCK_AGAIN is set, A then locks again, so B must fail.
 */
static int
unlock_before_flock (const char *call)
{
  if (strcmp (call, "flock") != 0 || calls++ > 0)
    return 0;
  on_file_call = NULL;
  lock_file_unlock (&a);
  if (lock_again > 0)
    assert_int_equal (try_lock (&a), 0);
  on_file_call = unlock_before_flock;
  return 0;
}

static void
test_removed_before_flock (void **state)
{
  (void) state;
  for (lock_again = 0; lock_again < 2; lock_again++) {
    assert_int_equal (try_lock (&a), 0);
    calls = 0;
    on_file_call = unlock_before_flock;
    assert_int_equal (try_lock (&b), lock_again ? -1 : 0);
    on_file_call = NULL;
    assert_int_equal (calls, 2);
    /* The lock is on the lock file that exists now, not on the removed one. */
    assert_int_equal (try_lock (lock_again ? &b : &a), -1);
    lock_file_unlock (lock_again ? &a : &b);
    assert_false (lock_file_exists ());
  }
}

static int
fail_flock (const char *call)
{
  return strcmp (call, "flock") == 0 ? ENOLCK : 0;
}

/* If the file system has no locks, a second server is not detected. */
static void
test_no_locks (void **state)
{
  (void) state;
  on_file_call = fail_flock;
  assert_int_equal (try_lock (&a), 0);
  assert_int_equal (try_lock (&b), 0);
  on_file_call = NULL;
  lock_file_unlock (&a);
  lock_file_unlock (&b);
  assert_false (lock_file_exists ());
}

/* ---- A lock file that cannot be examined ---- */

static int lstat_error;         /* ENOENT: the file was removed */
static bool other_inode;        /* lstat returns another inode number than
                                 * fstat, as on some FUSE and overlay file
                                 * systems */
static unsigned lstat_calls;    /* with one of these */

int __wrap_lstat (const char *name, struct stat *st);

int
__wrap_lstat (const char *name, struct stat *st)
{
  int r = fstatat (AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);

  if (lstat_error == 0 && !other_inode)
    return r;
  assert_true (lstat_calls++ < 100);
  st->st_ino++;
  errno = lstat_error;
  return lstat_error ? -1 : r;
}

/* The names of lstat in programs with 64-bit offsets and times. */
int __wrap_lstat64 (const char *name, struct stat *st)
  __attribute__ ((alias ("__wrap_lstat")));
int __wrap___lstat64_time64 (const char *name, struct stat *st)
  __attribute__ ((alias ("__wrap_lstat")));

static void
test_not_examined (void **state)
{
  unsigned reported = errors_reported ();
  char expected[200];

  (void) state;
  lstat_calls = 0;
  lstat_error = EACCES;
  assert_int_equal (try_lock (&a), -1);
  lstat_error = 0;
  assert_int_equal (lstat_calls, 1); /* it did not retry */
  assert_int_equal (errors_reported (), reported + 1);
  sprintf (expected, "blkhash-file: cannot use the lock file %s: %s",
           lock_path, strerror (EACCES));
  assert_string_equal (last_error, expected);

  /* lock_file_unlock cannot find out if the lock file is still the one that A
   * locked, so the file is not removed.
   */
  assert_int_equal (try_lock (&a), 0);
  lstat_error = EACCES;
  lock_file_unlock (&a);
  lstat_error = 0;
  assert_true (lock_file_exists ());
  assert_int_equal (unlink (lock_path), 0);
}

static void
test_other_inode (void **state)
{
  unsigned reported = errors_reported (), i;
  char expected[200];

  (void) state;
  sprintf (expected, "blkhash-file: cannot use the lock file %s: each time it "
           "was locked, the file of this name did not exist or had another "
           "inode number", lock_path);
  for (i = 0; i < 2; i++) {
    lstat_calls = 0;
    other_inode = i == 0;
    lstat_error = i == 0 ? 0 : ENOENT;
    last_error[0] = '\0';
    assert_int_equal (try_lock (&a), -1);
    assert_int_equal (errors_reported (), reported + i + 1);
    assert_string_equal (last_error, expected);
    assert_true (lstat_calls > 1);
  }
  other_inode = false;
  lstat_error = 0;

  /* The lock was given up. */
  assert_int_equal (try_lock (&a), 0);
  lock_file_unlock (&a);
  assert_false (lock_file_exists ());
}

/* ---- Existing files ---- */

static void
assert_refused (void)
{
  struct stat before, after;

  assert_int_equal (lstat (lock_path, &before), 0);
  assert_int_equal (try_lock (&a), -1);
  assert_int_equal (lstat (lock_path, &after), 0);
  assert_int_equal (before.st_ino, after.st_ino);
  assert_int_equal (before.st_size, after.st_size);
}

static void
test_existing_files (void **state)
{
  FILE *f;

  (void) state;
  assert_int_equal (mkdir (lock_path, 0700), 0);
  assert_refused ();
  assert_int_equal (rmdir (lock_path), 0);
  assert_int_equal (symlink (path, lock_path), 0);
  assert_refused ();
  assert_int_equal (access (path, F_OK), -1);
  assert_int_equal (unlink (lock_path), 0);
  assert_int_equal (mkfifo (lock_path, 0600), 0);
  assert_refused ();
  assert_int_equal (unlink (lock_path), 0);
  f = fopen (lock_path, "w");
  assert_true (f && fputs ("x", f) != EOF && fclose (f) != EOF);
  assert_refused ();

  /* An empty file, as a killed server leaves it, is accepted. */
  assert_int_equal (truncate (lock_path, 0), 0);
  assert_int_equal (try_lock (&a), 0);
  lock_file_unlock (&a);
  assert_false (lock_file_exists ());
}

static int
set_up (void **state)
{
  (void) state;
  if (!mkdtemp (directory))
    return -1;
  sprintf (path, "%s/sums", directory);
  sprintf (lock_path, "%s.blkhash-lock", path);
  return 0;
}

/* The last test, because cmocka ignores an error of the tear-down.  rmdir fails
 * if a file is left.
 */
static void
test_nothing_left (void **state)
{
  (void) state;
  assert_int_equal (rmdir (directory), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_held),
    cmocka_unit_test (test_removed_before_flock),
    cmocka_unit_test (test_no_locks),
    cmocka_unit_test (test_not_examined),
    cmocka_unit_test (test_other_inode),
    cmocka_unit_test (test_existing_files),
    cmocka_unit_test (test_nothing_left),
  };

  return cmocka_run_group_tests (tests, set_up, NULL);
}
