/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: a file in which blocks are replaced is the one that was read, is
 * locked, and changes nowhere else.
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
#include <unistd.h>

#include <cmocka.h>

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
  struct stat st;
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
  assert_int_equal (fstat (file->fd, &file->st), 0);
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

  assert_int_equal (write_file_open (&opened, file->path, &file->st, false,
                                     &error), 0);
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
  write_file_close (&opened);
}

static void
test_read_only (void **state)
{
  struct test_file *file = *state;
  struct write_file opened;
  struct error error = { "" };

  assert_int_equal (write_file_open (&opened, file->path, &file->st, true,
                                     &error), 0);
  assert_int_equal (write_file_write (&opened, "x", 1, 0, &error), -1);
  write_file_close (&opened);
  assert_content (file);
}

static void
assert_refused (const struct test_file *file, const char *reason)
{
  struct write_file opened;
  struct error error = { "" };

  assert_int_equal (write_file_open (&opened, file->path, &file->st, false,
                                     &error), -1);
  if (!strstr (error.text, reason))
    fail_msg ("'%s' does not say '%s'", error.text, reason);
}

static void
test_modified (void **state)
{
  struct test_file *file = *state;
  struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };

  times[1] = file->st.st_mtim;
  times[1].tv_nsec ^= 1;
  assert_int_equal (futimens (file->fd, times), 0);
  assert_refused (file, "changed after it was read");

  times[1] = file->st.st_mtim;
  assert_int_equal (ftruncate (file->fd, SIZE + 1), 0);
  assert_int_equal (futimens (file->fd, times), 0);
  assert_refused (file, "changed after it was read");
}

static void
test_replaced (void **state)
{
  struct test_file *file = *state;
  int fd;

  assert_int_equal (unlink (file->path), 0);
  assert_refused (file, "No such file");
  fd = open (file->path, O_RDWR | O_CREAT | O_EXCL, 0600);
  assert_true (fd != -1);
  assert_int_equal (ftruncate (fd, SIZE), 0);
  close (fd);
  assert_refused (file, "changed after it was read");
}

#ifdef F_OFD_SETLK

/* A reader excludes a writer, and a writer both. */
static void
test_locks (void **state)
{
  struct test_file *file = *state;
  struct write_file opened;
  struct error error = { "" };
  int reader = open (file->path, O_RDONLY);

  assert_int_equal (lock_image (reader, true, &error), 0);
  assert_int_equal (write_file_check (file->path, reader, &file->st, &error),
                    0);
  assert_int_equal (write_file_check (file->path, file->fd, &file->st, &error),
                    -1);
  assert_refused (file, "is in use by another program");
  close (reader);

  error = (struct error) { "" };
  assert_int_equal (write_file_open (&opened, file->path, &file->st, false,
                                     &error), 0);
  assert_refused (file, "is in use by another program");
  reader = open (file->path, O_RDONLY);
  assert_int_equal (lock_image (reader, true, &error), -1);
  close (reader);
  write_file_close (&opened);
  error = (struct error) { "" };
  assert_int_equal (write_file_check (file->path, file->fd, &file->st, &error),
                    0);
}

#endif

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_write, setup, teardown),
    cmocka_unit_test_setup_teardown (test_read_only, setup, teardown),
    cmocka_unit_test_setup_teardown (test_modified, setup, teardown),
    cmocka_unit_test_setup_teardown (test_replaced, setup, teardown),
#ifdef F_OFD_SETLK
    cmocka_unit_test_setup_teardown (test_locks, setup, teardown),
#endif
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
