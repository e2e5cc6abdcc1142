/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the text by which a later run detects that the image was modified,
 * and how long to wait until the file times in it can be trusted.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../lib/common/test-time64.h"

#include "io/file.h"
#include "io/files.h"
#include "job/identity.h"
#include "source/source.h"
#include "util/error.h"

#define SECOND 1000000000LL

int __wrap_clock_gettime (clockid_t clock, struct timespec *time)
  WRAPS_TIME64 (clock_gettime);

static struct timespec now;

int
__wrap_clock_gettime (clockid_t clock, struct timespec *time)
{
  assert_int_equal (clock, CLOCK_REALTIME);
  *time = now;
  return 0;
}

bool
file_is_block_device (const struct file *file)
{
  return S_ISBLK (file->st.st_mode);
}

/* ---- Times ---- */

/* Check the wait, in ns, for a file that was modified at SEC and NSEC.  The
 * simulated clock is at 1000000.5 s.
 */
static void
expect_wait (time_t sec, long nsec, long long wait)
{
  const struct identity identity = { .last_modified = { sec, nsec } };

  now = (struct timespec) { 1000000, 500000000 };
  assert_int_equal (identity_wait (&identity), wait);
}

/* Times are trusted when they are more than 2 seconds old. */
static void
test_wait (void **state)
{
  (void) state;
  expect_wait (0, 0, 0);
  expect_wait (-5, 0, 0);
  expect_wait (999998, 499999999, 0);
  expect_wait (999998, 500000000, 1);
  expect_wait (999999, 0, SECOND / 2 + 1);
  expect_wait (999999, 900000000, SECOND + 400000001);
  expect_wait (1000000, 500000000, 2 * SECOND + 1);
  expect_wait (1000000, 500000001, -1);
  expect_wait (1000001, 0, -1);
  expect_wait (INT64_MAX / 2, 0, -1);
}

/* ---- Texts ---- */

static struct files files;
static struct file parts[2];


static void
make_files (void)
{
  size_t i;

  files = (struct files) { .first = &parts[0] };
  for (i = 0; i < 2; i++) {
    parts[i] = (struct file) { .next = i == 0 ? &parts[1] : NULL };
    parts[i].st.st_mode = S_IFREG;
    parts[i].st.st_dev = 1;
    parts[i].st.st_ino = 2 + i;
    parts[i].st.st_size = 3;
    parts[i].st.st_mtim = (struct timespec) { 4, 5 };
    parts[i].st.st_ctim = (struct timespec) { 6, 7 };
  }
}

static void
make (struct identity *identity, const struct files *its_files)
{
  struct source source = { .files = its_files, .format = "qcow2" };
  struct error error = { "" };

  assert_int_equal (identity_init (identity, &source, &error), 0);
}

/* Check that the files, which were modified, have another identity than BEFORE,
 * and whether they still count as the same files.  Restores the files.
 */
static void
expect_other (const struct identity *before, bool same_files)
{
  struct identity after;

  make (&after, &files);
  assert_string_not_equal (before->text, after.text);
  assert_int_equal (identity_is_of_same_files (before->text, after.text),
                    same_files);
  identity_destroy (&after);
  make_files ();
}

static void
test_text (void **state)
{
  struct identity identity;

  (void) state;
  make_files ();
  make (&identity, &files);
  assert_string_equal (identity.text, "format: qcow2\n"
                       "file: 1 2 3 4.000000005 6.000000007\n"
                       "file: 1 3 3 4.000000005 6.000000007\n");
  assert_true (identity.detects_changes);
  assert_int_equal (identity.last_modified.tv_sec, 6);
  assert_true (identity_is_of_same_files (identity.text, identity.text));
  parts[1].st.st_size++;
  expect_other (&identity, true);
  parts[0].st.st_mtim.tv_nsec++;
  expect_other (&identity, true);
  parts[1].st.st_mtim.tv_sec++;
  expect_other (&identity, true);
  parts[1].st.st_ctim.tv_nsec++;
  expect_other (&identity, true);
  parts[0].st.st_ino = 20;
  expect_other (&identity, false);
  parts[1].st.st_dev++;
  expect_other (&identity, false);
  parts[0].next = NULL;
  expect_other (&identity, false);
  identity_destroy (&identity);
}

static void
test_not_detected (void **state)
{
  struct identity identity;

  (void) state;
  make (&identity, NULL);
  assert_string_equal (identity.text, "format: qcow2\nassumed: unchanged\n");
  assert_false (identity.detects_changes);
  identity_destroy (&identity);

  make_files ();
  files.remote = true;
  make (&identity, &files);
  assert_false (identity.detects_changes);
  identity_destroy (&identity);

  make_files ();
  parts[1].st.st_mode = S_IFBLK;
  make (&identity, &files);
  assert_false (identity.detects_changes);
  assert_non_null (strstr (identity.text, "\nfile: 1 2 "));
  assert_non_null (strstr (identity.text, "\ndevice: 0\n"));
  identity_destroy (&identity);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_wait),
    cmocka_unit_test (test_text),
    cmocka_unit_test (test_not_detected),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
