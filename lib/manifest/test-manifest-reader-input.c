/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: buffered input of a manifest, the size of the buffer, and errors
 * of read.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "manifest/manifest-reader.h"

static int
temporary (void)
{
  char name[] = "test-manifest-input-XXXXXX";
  int fd = mkstemp (name);

  assert_int_not_equal (fd, -1);
  unlink (name);
  return fd;
}

/* The length of a pipe is unknown, so the buffer grows with the input. */
static void
test_input (void **state)
{
  static unsigned char image[30000];
  struct manifest_input input;
  const unsigned char *bytes;
  int fds[2];

  (void) state;
  memset (image, 1, sizeof image);
  assert_int_equal (pipe (fds), 0);
  assert_int_equal (write (fds[1], image, 30000), 30000);
  close (fds[1]);
  manifest_input_init (&input, fds[0]);
  assert_true (manifest_input_may_have (&input, UINT64_MAX));
  assert_int_equal (manifest_input_peek (&input, 4 << 20, &bytes), ENODATA);
  assert_true (input.size >= 30000 && input.size <= 65536);
  assert_int_equal (manifest_input_peek (&input, 30000, &bytes), 0);
  assert_memory_equal (bytes, image, 30000);
  manifest_input_take (&input, 29999);
  assert_int_equal (manifest_input_peek (&input, 1, &bytes), 0);
  assert_int_equal (manifest_input_peek (&input, 2, &bytes), ENODATA);
  manifest_input_destroy (&input);
  close (fds[0]);
}

/* The number of bytes after the current offset of a file is known. */
static void
test_input_file (void **state)
{
  static unsigned char all[2000000];
  int fd = temporary ();
  struct manifest_input input;
  const unsigned char *bytes;
  size_t i, len;

  (void) state;
  for (i = 0; i < sizeof all; i++)
    all[i] = i % 251;
  assert_int_equal (write (fd, all, sizeof all), sizeof all);
  lseek (fd, 100, SEEK_SET);
  manifest_input_init (&input, fd);
  assert_true (manifest_input_may_have (&input, sizeof all - 100));
  assert_false (manifest_input_may_have (&input, sizeof all - 99));
  for (i = 100, len = 1; i + len <= sizeof all; i += len, len += 4999) {
    assert_int_equal (manifest_input_peek (&input, len, &bytes), 0);
    assert_memory_equal (bytes, all + i, len);
    manifest_input_take (&input, len);
  }
  assert_int_equal (input.offset, i - 100);
  assert_int_equal (input.left, sizeof all - i);
  assert_true (input.size >= 1 && input.size <= 2 * len);
  manifest_input_destroy (&input);
  close (fd);
}

static int read_error;          /* of the next call of read; 0: none */

ssize_t __real_read (int fd, void *buf, size_t len);
ssize_t __wrap_read (int fd, void *buf, size_t len);

ssize_t
__wrap_read (int fd, void *buf, size_t len)
{
  if (read_error == 0)
    return __real_read (fd, buf, len);
  errno = read_error;
  read_error = 0;
  return -1;
}

/* The errors that the reader of manifests also returns for its own reasons
 * become EIO.  Input continues after an error.
 */
static void
test_errors (void **state)
{
  static const struct {
    int read, peek;
  } errors[] = {
    { ENODATA, EIO }, { ENOENT, EIO }, { EBADMSG, EIO }, { EIO, EIO },
    { EISDIR, EISDIR }, { EINTR, 0 },
  };
  struct manifest_input input;
  const unsigned char *bytes;
  int fd = temporary ();
  unsigned i;

  (void) state;
  assert_int_equal (write (fd, "manifest", 8), 8);
  for (i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    lseek (fd, 0, SEEK_SET);
    manifest_input_init (&input, fd);
    read_error = errors[i].read;
    assert_int_equal (manifest_input_peek (&input, 8, &bytes), errors[i].peek);
    assert_int_equal (read_error, 0);
    assert_int_equal (manifest_input_peek (&input, 8, &bytes), 0);
    assert_memory_equal (bytes, "manifest", 8);
    manifest_input_destroy (&input);
  }
  close (fd);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_input),
    cmocka_unit_test (test_input_file),
    cmocka_unit_test (test_errors),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
