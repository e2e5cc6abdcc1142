/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: a file in which blocks are replaced is locked, changes nowhere else,
 * and is noticed to be changed by others.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/file.h"
#include "io/lock.h"
#include "io/write-file.h"
#include "util/error.h"

#define SIZE 300001             /* bytes */
#define ROUNDS 200

static unsigned seed = 1;

static unsigned
rnd (unsigned below)
{
  return rand_r (&seed) % below;
}

struct test_file {
  char path[64];
  int fd;
  unsigned char bytes[SIZE];    /* what it must have */
};

static int
setup (void **state)
{
  struct test_file *file = calloc (1, sizeof *file);
  size_t i;

  strcpy (file->path, "test-write-file-XXXXXX");
  file->fd = mkstemp (file->path);
  assert_true (file->fd != -1);
  for (i = 0; i < SIZE; i++)
    file->bytes[i] = rnd (256);
  assert_int_equal (write (file->fd, file->bytes, SIZE), SIZE);
  *state = file;
  return 0;
}

static int
teardown (void **state)
{
  struct test_file *file = *state;

  close (file->fd);
  unlink (file->path);
  free (file);
  return 0;
}

static void
assert_content (const struct test_file *file)
{
  static unsigned char now[SIZE + 1];

  assert_int_equal (pread (file->fd, now, sizeof now, 0), SIZE);
  assert_memory_equal (now, file->bytes, SIZE);
}

/* The file is opened, and has a reader. */
static void
open_file (const struct test_file *file, struct write_file *opened,
           bool read_only)
{
  struct error error = { "" };
  struct file *reader;

  assert_int_equal (write_file_open (opened, file->path, read_only, &error),
                    0);
  reader = file_new (opened->fd, NULL, false, true, false, &error);
  assert_non_null (reader);
  file_bypass_cache (reader);
  write_file_set_reader (opened, reader);
}

static void
close_file (struct write_file *opened)
{
  file_free (opened->reader);
  write_file_close (opened);
}

/* Any offset and length: what is read is what was written, and nothing else
 * changes.
 */
static void
test_write (void **state)
{
  static unsigned char buf[SIZE];
  struct test_file *file = *state;
  struct write_file opened;
  struct error error = { "" };
  int i;

  open_file (file, &opened, false);
  for (i = 0; i < ROUNDS; i++) {
    unsigned offset = rnd (SIZE), len = 1 + rnd (SIZE - offset);

    memset (file->bytes + offset, rnd (256), len);
    assert_int_equal (write_file_write (&opened, file->bytes + offset, len,
                                        offset, &error), 0);
    assert_int_equal (write_file_sync (&opened, &error), 0);
    assert_content (file);
    offset = rnd (SIZE), len = 1 + rnd (SIZE - offset);
    assert_int_equal (write_file_read (&opened, buf, len, offset, &error), 0);
    assert_memory_equal (buf, file->bytes + offset, len);
  }
  assert_int_equal (write_file_read (&opened, buf, 2, SIZE - 1, &error), -1);
  close_file (&opened);
}

static void
test_read_only (void **state)
{
  struct test_file *file = *state;
  struct write_file opened;
  struct error error = { "" };

  open_file (file, &opened, true);
  assert_int_equal (write_file_write (&opened, "x", 1, 0, &error), -1);
  close_file (&opened);
  assert_content (file);
}

static void
assert_refused (const char *path, const char *reason)
{
  struct write_file opened;
  struct error error = { "" };

  assert_int_equal (write_file_open (&opened, path, false, &error), -1);
  if (!strstr (error.text, reason))
    fail_msg ("'%s' does not say '%s'", error.text, reason);
}

/* What is neither a file nor a device is not opened, and is not waited for. */
static void
test_type (void **state)
{
  struct test_file *file = *state;

  assert_int_equal (unlink (file->path), 0);
  assert_refused (file->path, "No such file");
  assert_refused (".", "is not a regular file or block device");
  assert_int_equal (mkfifo (file->path, 0600), 0);
  assert_refused (file->path, "is not a regular file or block device");
}

static void
assert_modified (const struct write_file *opened, bool modified)
{
  struct error error = { "" };

  assert_int_equal (write_file_check_unmodified (opened, &error),
                    modified ? -1 : 0);
}

static void
test_modified (void **state)
{
  struct test_file *file = *state;
  struct write_file opened;
  struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };

  open_file (file, &opened, false);
  assert_modified (&opened, false);
  times[1] = opened.st.st_mtim;
  times[1].tv_nsec ^= 1;
  assert_int_equal (futimens (file->fd, times), 0);
  assert_modified (&opened, true);
  times[1] = opened.st.st_mtim;
  assert_int_equal (futimens (file->fd, times), 0);
  assert_modified (&opened, false);
  assert_int_equal (ftruncate (file->fd, SIZE + 1), 0);
  assert_int_equal (futimens (file->fd, times), 0);
  assert_modified (&opened, true);
  close_file (&opened);
}

/* A file that becomes shorter does not become longer again. */
static void
test_truncated (void **state)
{
  static unsigned char buf[SIZE];
  struct test_file *file = *state;
  struct write_file opened;
  struct error error = { "" };
  struct stat st;

  open_file (file, &opened, false);
  assert_int_equal (ftruncate (file->fd, SIZE - 1), 0);
  assert_int_equal (write_file_write (&opened, "xx", 2, SIZE - 2, &error), -1);
  assert_non_null (strstr (error.text, "was truncated"));
  error = (struct error) { "" };
  assert_int_equal (write_file_read (&opened, buf, 2, SIZE - 2, &error), -1);
  assert_non_null (strstr (error.text, "was truncated"));
  assert_int_equal (fstat (file->fd, &st), 0);
  assert_int_equal (st.st_size, SIZE - 1);
  close_file (&opened);
}

static void
test_replaced (void **state)
{
  struct test_file *file = *state;
  struct write_file opened;
  struct error error = { "" };
  char other[80];

  open_file (file, &opened, false);
  assert_int_equal (write_file_check_path (&opened, &error), 0);
  snprintf (other, sizeof other, "%s-other", file->path);
  assert_int_equal (link (file->path, other), 0);
  assert_int_equal (unlink (file->path), 0);
  assert_int_equal (write_file_check_path (&opened, &error), -1);
  assert_int_equal (rename (other, file->path), 0);
  error = (struct error) { "" };
  assert_int_equal (write_file_check_path (&opened, &error), 0);
  close_file (&opened);
}

#ifdef F_OFD_SETLK

/* A reader excludes a writer, and a writer both, also if it only reads. */
static void
test_locks (void **state)
{
  struct test_file *file = *state;
  struct write_file opened;
  struct error error = { "" };
  int i, reader = open (file->path, O_RDONLY);

  assert_int_equal (lock_image (reader, true, &error), 0);
  assert_refused (file->path, "is in use by another program");
  close (reader);

  for (i = 0; i < 2; i++) {
    open_file (file, &opened, i == 1);
    assert_refused (file->path, "is in use by another program");
    reader = open (file->path, O_RDONLY);
    assert_int_equal (lock_image (reader, true, &error), -1);
    close (reader);
    close_file (&opened);
  }
  open_file (file, &opened, false);
  close_file (&opened);
}

#endif

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_write, setup, teardown),
    cmocka_unit_test_setup_teardown (test_read_only, setup, teardown),
    cmocka_unit_test_setup_teardown (test_type, setup, teardown),
    cmocka_unit_test_setup_teardown (test_modified, setup, teardown),
    cmocka_unit_test_setup_teardown (test_truncated, setup, teardown),
    cmocka_unit_test_setup_teardown (test_replaced, setup, teardown),
#ifdef F_OFD_SETLK
    cmocka_unit_test_setup_teardown (test_locks, setup, teardown),
#endif
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
