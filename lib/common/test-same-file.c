/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: which questions each field of a struct stat answers.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/same-file.h"

static struct stat a, b;        /* B differs from A in one field */

/* Each argument: has the function found A and B the same? */
static void
expect (bool file, bool disk, bool state, bool mtime, bool ctime, bool version)
{
  const struct stat *pairs[][2] = { { &a, &b }, { &b, &a } };

  for (size_t i = 0; i < 2; i++) {
    const struct stat *x = pairs[i][0], *y = pairs[i][1];

    assert_int_equal (same_file (x, y), file);
    assert_int_equal (same_disk (x, y), disk);
    assert_int_equal (same_state (x, y), state);
    assert_int_equal (same_mtime (x, y), mtime);
    assert_int_equal (same_ctime (x, y), ctime);
    assert_int_equal (same_version (x, y), version);
  }
  b = a;
}

static void
set (mode_t type)
{
  a = b = (struct stat) {
    .st_mode = type | 0600, .st_dev = 1, .st_ino = 2, .st_rdev = 3,
    .st_size = 4, .st_mtim = { 5, 6 }, .st_ctim = { 7, 8 }
  };
  expect (true, true, true, true, true, true);
}

static void
test_regular (void **state)
{
  (void) state;
  set (S_IFREG);
  b.st_dev++;
  expect (false, false, true, true, true, false);
  b.st_ino++;
  expect (false, false, true, true, true, false);
  b.st_size++;
  expect (true, true, false, true, true, false);
  b.st_mtim.tv_sec++;
  expect (true, true, false, false, true, false);
  b.st_mtim.tv_nsec++;
  expect (true, true, false, false, true, false);
  b.st_ctim.tv_sec++;
  expect (true, true, true, true, false, false);
  b.st_ctim.tv_nsec++;
  expect (true, true, true, true, false, false);
  /* These say nothing of a regular file. */
  b.st_rdev++;
  expect (true, true, true, true, true, true);
  b.st_mode |= 0040;
  expect (true, true, true, true, true, true);
}

static void
test_block_device (void **state)
{
  (void) state;
  set (S_IFBLK);
  b.st_ino++;                   /* another node of the device */
  expect (false, true, true, true, true, false);
  b.st_rdev++;                  /* another device */
  expect (true, false, false, true, true, true);
  b.st_mtim.tv_sec++;           /* says nothing of the content */
  expect (true, true, true, false, true, false);

  /* A file is no device, whatever the numbers are. */
  b.st_mode = S_IFREG | 0600;
  assert_false (same_disk (&a, &b));
  assert_false (same_disk (&b, &a));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_regular),
    cmocka_unit_test (test_block_device),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
