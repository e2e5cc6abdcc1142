/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: two images that are hashed and compared at the same time.
 */

#include <config.h>

#include "../lib/manifest/manifest-diff.h"
#include "job/test-script.h"

static void
test_diff (void **state)
{
  struct script scripts[2] = {
    { .blocks = 20000, .hold = UINT32_MAX },
    { .blocks = 20000, .hold = UINT32_MAX, .zero = 12000 }
  };
  struct image_runs images[2];
  struct error errors[2];
  uint64_t first, count;
  struct leaf_diff diff = { .tail = LEAF_DIFF_NO_BLOCK };
  int i;

  (void) state;
  for (i = 0; i < 2; i++) {
    open_script (&images[i], &scripts[i], &errors[i]);
    diff.inputs[i].runs = &images[i].runs;
  }
  assert_int_equal (leaf_diff_next (&diff, &first, &count), 0);
  assert_int_equal (first, 0);
  assert_int_equal (count, 1);
  assert_int_equal (leaf_diff_next (&diff, &first, &count), 0);
  assert_int_equal (first, 12000);
  assert_int_equal (count, 1);
  assert_int_equal (leaf_diff_next (&diff, &first, &count), ENOENT);
  for (i = 0; i < 2; i++)
    image_runs_close (&images[i]);
}

struct comparison {
  struct leaf_diff diff;
  int err;
};

static void *
do_nothing (void *opaque)
{
  return opaque;
}

static void *
compare (void *opaque)
{
  struct comparison *c = opaque;
  uint64_t first, count;

  c->err = leaf_diff_next (&c->diff, &first, &count);
  return NULL;
}

/* Image FAILING fails while the source of the other image is stalled, and the
 * comparison waits for leaves of image 0.  The error ends the comparison.
 */
static void
check_failure (int failing)
{
  struct script scripts[2];
  struct image_runs images[2];
  struct comparison c = {
    .diff = {
      .tail = LEAF_DIFF_NO_BLOCK,
      .inputs = { { .runs = &images[0].runs }, { .runs = &images[1].runs } }
    }
  };
  struct image_group group;
  struct error errors[2];
  pthread_t thread;

  scripts[failing] = (struct script) { .blocks = 1, .hold = 0, .fails = "why" };
  scripts[!failing] = (struct script) { .blocks = 1000000, .hold = 0 };
  image_group_init (&group);
  open_member (&images[0], &scripts[0], &group, &errors[0]);
  open_member (&images[1], &scripts[1], &group, &errors[1]);
  sem_wait (&scripts[0].held);
  sem_wait (&scripts[1].held);
  sem_init (&waits, 0, 0);
  pthread_create (&thread, NULL, compare, &c);
  sem_wait (&waits);            /* until COMPARE waits for leaves of image 0 */
  sem_post (&scripts[failing].release);
  pthread_join (thread, NULL);  /* the other image is still stalled */
  assert_int_equal (c.err, ECANCELED);
  sem_post (&scripts[!failing].release);
  image_runs_close (&images[0]);
  image_runs_close (&images[1]);
  assert_string_equal (errors[failing].text, "why");
  assert_string_equal (errors[!failing].text, "");
  assert_true (scripts[!failing].stopped);
  image_group_destroy (&group);
}

static void
test_one_fails (void **state)
{
  (void) state;
  check_failure (0);
  check_failure (1);
}

/* Image 0 fails before image 1 is opened, which then fails without a reason. */
static void
test_failed_before (void **state)
{
  struct script fails = { .blocks = 1, .hold = UINT32_MAX, .fails = "why" };
  struct script stalls = { .blocks = 2, .hold = 0 };
  struct blkhash_manifest_run run;
  struct image_runs images[2];
  struct image_group group;
  struct error errors[2];
  uint64_t blocks;

  (void) state;
  image_group_init (&group);
  open_member (&images[0], &fails, &group, &errors[0]);
  assert_int_equal (take_all (&images[0], &fails, &blocks), ECANCELED);
  /* Wait until the thread has stored the failure in the group.  A new thread is
   * needed for image_runs_close to join.
   */
  pthread_join (images[0].thread, NULL);
  pthread_create (&images[0].thread, NULL, do_nothing, NULL);
  open_member (&images[1], &stalls, &group, &errors[1]);
  assert_int_equal (images[1].runs.next (&images[1].runs, &run), ECANCELED);
  sem_post (&stalls.release);
  image_runs_close (&images[0]);
  image_runs_close (&images[1]);
  assert_string_equal (errors[1].text, "");
  image_group_destroy (&group);
}

/* One image is far ahead of the other.  Neither waits for ever. */
static void
test_far_ahead (void **state)
{
  struct script ahead = { .blocks = 30000, .hold = UINT32_MAX };
  struct script behind = { .blocks = 30000, .hold = 0 };
  struct image_runs images[2];
  struct comparison c = {
    .diff = {
      .tail = LEAF_DIFF_NO_BLOCK,
      .inputs = { { .runs = &images[0].runs }, { .runs = &images[1].runs } }
    }
  };
  struct error errors[2];
  pthread_t thread;

  (void) state;
  open_script (&images[1], &behind, &errors[1]);
  sem_wait (&behind.held);
  sem_init (&waits, 0, 0);
  open_script (&images[0], &ahead, &errors[0]);
  sem_wait (&waits);            /* until AHEAD waits for room */
  pthread_create (&thread, NULL, compare, &c);
  sem_post (&behind.release);
  pthread_join (thread, NULL);
  assert_int_equal (c.err, ENOENT);
  assert_false (c.diff.any);
  image_runs_close (&images[0]);
  image_runs_close (&images[1]);
}

static int
run_all (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_diff),
    cmocka_unit_test (test_one_fails),
    cmocka_unit_test (test_failed_before),
    cmocka_unit_test (test_far_ahead),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

int
main (void)
{
  return run_with_scripts (run_all);
}
