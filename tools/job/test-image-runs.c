/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: leaves of an image are returned while another thread hashes it.
 */

#include <config.h>

#include "job/test-script.h"

/* Read four images, each of more blocks than two batches hold.  In them no
 * block, each block, every second block, or every seventh block is zeros.
 */
static void
check_all (void)
{
  static const unsigned zeros[] = { 0, 1, 2, 7 };
  struct image_runs image;
  struct error error;
  uint64_t blocks;
  unsigned i;

  for (i = 0; i < sizeof zeros / sizeof zeros[0]; i++) {
    struct script script = {
      .blocks = 30000, .hold = UINT32_MAX, .zero = zeros[i]
    };

    open_script (&image, &script, &error);
    assert_int_equal (take_all (&image, &script, &blocks), ENOENT);
    assert_int_equal (blocks, script.blocks);
    assert_int_equal (image.sum.size, script.source.size);
    image_runs_close (&image);
  }
}

static void
test_all (void **state)
{
  (void) state;
  check_all ();
}

/* Leaves of 0 bytes: the digest is null. */
static void
test_null (void **state)
{
  struct blkhash_opts *sha256 = opts;

  (void) state;
  opts = make_opts ("null");
  check_all ();
  blkhash_opts_free (opts);
  opts = sha256;
}

/* Hashed blocks are returned while the source stalls. */
static void
test_stalled (void **state)
{
  struct script script = { .blocks = 3, .hold = 2 };
  struct blkhash_manifest_run run;
  struct image_runs image;
  struct error error;
  uint64_t blocks = 0;

  (void) state;
  open_script (&image, &script, &error);
  while (blocks < 2) {
    assert_int_equal (image.runs.next (&image.runs, &run), 0);
    blocks += run.count;
  }
  assert_int_equal (blocks, 2);
  sem_post (&script.release);
  assert_int_equal (image.runs.next (&image.runs, &run), 0);
  assert_int_equal (run.first, 2);
  assert_int_equal (image.runs.next (&image.runs, &run), ENOENT);
  image_runs_close (&image);
}

/* The leaves of blocks before an error are returned first, then the error. */
static void
test_fails (void **state)
{
  struct script script = { .blocks = 5, .hold = UINT32_MAX, .fails = "why" };
  struct image_runs image;
  struct error error;
  uint64_t blocks;

  (void) state;
  open_script (&image, &script, &error);
  assert_int_equal (take_all (&image, &script, &blocks), ECANCELED);
  assert_int_equal (blocks, 5);
  assert_string_equal (error.text, "why");
  image_runs_close (&image);
}

/* ---- Closing ---- */

/* Close while the hashing thread waits for room, because no leaf was taken. */
static void
test_close_blocked (void **state)
{
  struct script script = { .blocks = 1000000, .hold = UINT32_MAX };
  struct image_runs image;
  struct error error;

  (void) state;
  sem_init (&waits, 0, 0);
  open_script (&image, &script, &error);
  sem_wait (&waits);
  image_runs_close (&image);
  assert_int_equal (script.err, ECANCELED);
  assert_false (script.stopped);
}

/* Close while the source reads.  The source stops when the read returns. */
static void
test_close_reading (void **state)
{
  struct script script = { .blocks = 1000000, .hold = 1 };
  struct image_runs image;
  struct error error;

  (void) state;
  open_script (&image, &script, &error);
  sem_wait (&script.held);
  pthread_mutex_lock (&image.lock);
  image.closed = true;          /* as image_runs_close does first */
  pthread_mutex_unlock (&image.lock);
  sem_post (&script.release);
  image_runs_close (&image);
  assert_int_equal (script.err, ECANCELED);
  assert_true (script.stopped);
}

static int
run_all (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_all),
    cmocka_unit_test (test_null),
    cmocka_unit_test (test_stalled),
    cmocka_unit_test (test_fails),
    cmocka_unit_test (test_close_blocked),
    cmocka_unit_test (test_close_reading),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

int
main (void)
{
  return run_with_scripts (run_all);
}
