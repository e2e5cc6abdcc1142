/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the plan of the parts of an image, by which a later run detects
 * that the image was modified, and how long to wait until file times can show
 * each modification.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/test-time64.h"
#include "blkhash.h"

#include "io/file.h"
#include "job/plan.h"
#include "source/source.h"
#include "util/error.h"

#define SECOND 1000000000LL

int __wrap_clock_gettime (clockid_t clock, struct timespec *time)
  WRAPS_TIME64 (clock_gettime);

/* The simulated clock is at 1000000.5 s. */
int
__wrap_clock_gettime (clockid_t clock, struct timespec *time)
{
  (void) clock;
  *time = (struct timespec) { 1000000, 500000000 };
  return 0;
}

static struct files files;
static struct file file[2];
static struct source source = { .format = "qcow2", .size = 10 };
static struct blkhash_opts *opts;

static void
make_files (void)
{
  size_t i;

  files = (struct files) { .first = &file[0] };
  source.files = &files;
  for (i = 0; i < 2; i++) {
    file[i] = (struct file) { .next = i == 0 ? &file[1] : NULL, .size = 3 };
    file[i].st.st_dev = 1;
    file[i].st.st_ino = 2 + i;
    file[i].st.st_mtim = (struct timespec) { 4, 5 };
    file[i].st.st_ctim = (struct timespec) { 6, 7 };
  }
}

/* ---- Times ---- */

/* Check the wait, in ns, for a file that was modified at SEC and NSEC. */
static void
expect_wait (time_t sec, long nsec, long long wait)
{
  make_files ();
  file[1].st.st_mtim = (struct timespec) { sec, nsec };
  assert_int_equal (plan_wait (&source), wait);
  make_files ();
  file[0].st.st_ctim = (struct timespec) { sec, nsec };
  assert_int_equal (plan_wait (&source), wait);
  file[1].st.st_mtim = (struct timespec) { 1000001, 0 };
  assert_int_equal (plan_wait (&source), -1);
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

static char *
text_of (uint32_t parts, const char *name)
{
  struct error error = { "" };
  char *text;

  assert_int_equal (plan_format (opts, parts, &source, name, &text, &error), 0);
  return text;
}

static void
expect_text (const char *name, const char *expected)
{
  char *text = text_of (7, name);

  assert_string_equal (text, expected);
  free (text);
}

#define START "blkhash-plan 1\nsum: blk-sha256/64k\nsize: 10\nparts: 7\n"

static void
test_text (void **state)
{
  (void) state;
  make_files ();
  expect_text (NULL, START "format: qcow2\n"
               "file: 3 2 4.000000005 6.000000007\n"
               "file: 3 3 4.000000005 6.000000007\n");
  expect_text ("snap 1", START "format: qcow2\nstate: snap 1\n"
               "file: 3\nfile: 3\n");
  source.files = NULL;
  expect_text ("snap 1", START "format: qcow2\nstate: snap 1\n");
}

/* Check that the plan of these files does not match, with a message that
 * contains WHY, and restore them.
 */
static void
expect_mismatch (const struct plan *plan, uint32_t parts, const char *name,
                 const char *why)
{
  struct error error = { "" };
  char *text = text_of (parts, name);

  assert_int_equal (plan_check (plan, "dir", text, &error), -1);
  if (!strstr (error.text, why))
    fail_msg ("'%s' has no '%s'", error.text, why);
  free (text);
  make_files ();
  source.size = 10;
}

static void
test_check (void **state)
{
  const char changed[] = "has changed since dir/plan was written, or is "
                         "another image; use a new directory";
  const char inode[] = "only its inode differs from dir/plan; if it is a copy, "
                       "or this host sees other inodes, use --state NAME";
  struct error error = { "" };
  struct plan plan = { 0 };

  (void) state;
  make_files ();
  plan.text = text_of (7, NULL);
  assert_int_equal (plan_check (&plan, "dir", plan.text, &error), 0);
  file[1].size++;
  expect_mismatch (&plan, 7, NULL, changed);
  file[0].st.st_mtim.tv_nsec++;
  expect_mismatch (&plan, 7, NULL, changed);
  file[1].st.st_mtim.tv_sec++;
  expect_mismatch (&plan, 7, NULL, changed);
  file[1].st.st_ctim.tv_nsec++;
  expect_mismatch (&plan, 7, NULL, changed);
  file[0].st.st_ino = 20;
  expect_mismatch (&plan, 7, NULL, inode);
  file[0].st.st_ino = 20;
  file[1].st.st_ino = 30;
  expect_mismatch (&plan, 7, NULL, inode);
  file[0].st.st_ino = 20;
  file[0].size = 31;
  expect_mismatch (&plan, 7, NULL, changed);
  file[0].st.st_ino = 20;
  file[1].st.st_ctim.tv_nsec++;
  expect_mismatch (&plan, 7, NULL, changed);
  file[0].next = NULL;
  expect_mismatch (&plan, 7, NULL, "has \"file: 3 3 ");
  source.size = 9;
  expect_mismatch (&plan, 7, NULL, "\"size: 10\", not \"size: 9\"; use a new");
  expect_mismatch (&plan, 8, NULL, "\"parts: 7\", not \"parts: 8\"; use a new");
  expect_mismatch (&plan, 7, "a", "without --state; use a new directory");
  free (plan.text);
  plan.text = text_of (7, "a");
  expect_mismatch (&plan, 7, NULL, "with --state; give the same NAME");
  expect_mismatch (&plan, 7, "b", "has \"state: a\", not \"state: b\"; use a");
  /* The devices are other ones on other hosts. */
  file[0].st.st_dev = 9;
  assert_int_equal (plan_check (&plan, "dir", plan.text, &error), 0);
  free (plan.text);
}

/* ---- Files ---- */

static char dir[] = "/tmp/blkhash-test-plan-XXXXXX";

static void
put_plan (const char *text, size_t len)
{
  char path[64];
  FILE *f;

  snprintf (path, sizeof path, "%s/plan", dir);
  f = fopen (path, "w");
  assert_non_null (f);
  assert_int_equal (fwrite (text, 1, len, f), len);
  assert_int_equal (fclose (f), 0);
}

static void
remove_plan (void)
{
  char path[64];

  snprintf (path, sizeof path, "%s/plan", dir);
  assert_int_equal (unlink (path), 0);
}

static void
test_write (void **state)
{
  struct error error = { "" };
  struct plan plan;
  char *text;

  (void) state;
  make_files ();
  text = text_of (7, NULL);
  assert_int_equal (plan_read (&plan, dir, &error), ANSWER_NO);
  assert_int_equal (plan_write (dir, text, &error), 0);
  /* The first one stays. */
  assert_int_equal (plan_write (dir, "other\n", &error), 0);
  assert_int_equal (plan_read (&plan, dir, &error), ANSWER_YES);
  assert_string_equal (plan.text, text);
  assert_int_equal (plan.size, 10);
  assert_int_equal (plan.parts, 7);
  assert_true (blkhash_opts_same_hash (plan.opts, opts));
  assert_int_equal (strlen (plan.id), 64);
  plan_destroy (&plan);
  /* The SHA-256 of sha256sum. */
  put_plan (START, strlen (START));
  assert_int_equal (plan_read (&plan, dir, &error), ANSWER_YES);
  assert_string_equal (plan.id, "74fbf7c1e415187a7736a935c52000cd"
                                "ca25f8ffe6369c33bbe6bf1ae90330ce");
  plan_destroy (&plan);
  free (text);
  remove_plan ();
  assert_string_equal (error.text, "");
}

static void
test_wrong_plans (void **state)
{
  static const char *const wrong[] = {
    "", "blkhash-plan 1", "blkhash-plan 2\nsum: blk-sha256/64k\nsize: 10\n"
    "parts: 7\n", "blkhash-plan 1\nsum: blk-nonsense/64k\nsize: 10\nparts: 7\n",
    "blkhash-plan 1\nsum: blk-sha256/64k\nsize: 10\nparts: 7",
    "blkhash-plan 1\nsum: blk-sha256/64k\nsize: 10\nparts: 0\n",
    "blkhash-plan 1\nsum: blk-sha256/64k\nsize: 10\nparts: 1000000\n",
    "blkhash-plan 1\nsum: blk-sha256/64k\nsize: 10\nparts: -1\n",
    "blkhash-plan 1\nsum: blk-sha256/64k\nsize: 18446744073709551615\n"
    "parts: 1\n",
    "blkhash-plan 1\nsum: blk-sha256/64k\nsize: 18446744073709551616\n"
    "parts: 1\n",
    "blkhash-plan 1\nsize: 10\nsum: blk-sha256/64k\nparts: 7\n",
  };
  size_t i;
  char *large = calloc (1, 1024 * 1024 + 1);

  (void) state;
  for (i = 0; i < sizeof wrong / sizeof wrong[0] + 2; i++) {
    struct error error = { "" };
    struct plan plan;

    if (i < sizeof wrong / sizeof wrong[0])
      put_plan (wrong[i], strlen (wrong[i]));
    else if (i == sizeof wrong / sizeof wrong[0])
      put_plan (START "\0", strlen (START) + 1);
    else {
      memset (large, '\n', 1024 * 1024 + 1);
      memcpy (large, START, strlen (START));
      put_plan (large, 1024 * 1024 + 1);
    }
    assert_int_equal (plan_read (&plan, dir, &error), ANSWER_FAILED);
    assert_non_null (strstr (error.text, "/plan is not a plan"));
  }
  free (large);
  remove_plan ();
}

static void
test_failed (void **state)
{
  struct error error = { "" };
  char path[64], text[64] = "";
  FILE *f;

  (void) state;
  assert_int_equal (plan_check_failed (dir, &error), JOB_DONE);
  assert_int_equal (plan_set_failed (dir, "4 bytes at 8 differ", &error), 0);
  assert_int_equal (plan_check_failed (dir, &error), JOB_DIFFERS);
  snprintf (path, sizeof path, "%s/failed", dir);
  f = fopen (path, "r");
  assert_non_null (f);
  assert_non_null (fgets (text, sizeof text, f));
  assert_string_equal (text, "4 bytes at 8 differ\n");
  fclose (f);
  assert_int_equal (unlink (path), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_wait),
    cmocka_unit_test (test_text),
    cmocka_unit_test (test_check),
    cmocka_unit_test (test_write),
    cmocka_unit_test (test_wrong_plans),
    cmocka_unit_test (test_failed),
  };
  int r;

  opts = blkhash_opts_new ("sha256");
  if (!opts || !mkdtemp (dir))
    return 1;
  r = cmocka_run_group_tests (tests, NULL, NULL);
  blkhash_opts_free (opts);
  rmdir (dir);
  return r;
}
