/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: leaves of an image that is hashed meanwhile.  The source of these
 * images is a script, which a test holds where it wants.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/manifest/leaf-diff.h"
#include "cli/progress.h"
#include "leaves/image-runs.h"
#include "read/fill.h"
#include "source/source.h"

#define BLOCK 512               /* bytes */

/* Its blocks are data, but for those whose number is a multiple of ZERO. */
struct script {
  struct source source;
  unsigned blocks, zero;
  unsigned hold;                /* this block is given only after RELEASE */
  sem_t held, release;
  const char *fails;            /* at the end */

  bool stopped;                 /* it was asked whether it is, and was */
  int err;                      /* of the last block that it gave */
};

static struct blkhash_opts *opts;
static sem_t waits;             /* for room in a batch, or for leaves */

int __real_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock);
int __wrap_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock);

int
__wrap_pthread_cond_wait (pthread_cond_t *cond, pthread_mutex_t *lock)
{
  sem_post (&waits);
  return __real_pthread_cond_wait (cond, lock);
}

void
progress_add (struct progress *progress, uint64_t len)
{
  (void) progress;
  (void) len;
}

/* ---- The source ---- */

static struct blkhash_opts *
make_opts (const char *digest)
{
  struct blkhash_opts *new = blkhash_opts_new (digest);

  if (!new || blkhash_opts_set_block_size (new, BLOCK) != 0)
    abort ();
  return new;
}

static bool
is_zero_block (const struct script *script, unsigned block)
{
  return script->zero && block % script->zero == 0;
}

static int
give (struct script *script, struct fill *fill, unsigned block)
{
  unsigned char data[BLOCK] = { 0 };

  if (block == script->hold) {
    sem_post (&script->held);
    sem_wait (&script->release);
  }
  script->stopped = fill_has_failed (fill);
  if (script->stopped)
    return ECANCELED;
  memcpy (data, &block, sizeof block);
  data[BLOCK - 1] = 1;
  return is_zero_block (script, block)
    ? fill_zero (fill, BLOCK, (uint64_t) block * BLOCK)
    : fill_data (fill, data, BLOCK, (uint64_t) block * BLOCK);
}

static int
run_script (struct source *source, struct fill *fill)
{
  struct script *script = (struct script *) source;
  struct error error = { "" };
  unsigned block;

  for (block = 0; block < script->blocks && script->err == 0; block++)
    script->err = give (script, fill, block);
  if (script->err)
    error_errno (&error, script->err, "cannot hash");
  else if (script->fails)
    error_set (&error, "%s", script->fails);
  else
    return 0;
  fill_fail (fill, &error);
  return -1;
}

static const struct source_ops ops = { .fill = run_script };

/* SCRIPT says how many blocks there are, and more. */
static void
open_member (struct image_runs *image, struct script *script,
             struct image_group *group, struct error *error)
{
  const struct image_request request = { .opts = opts };

  script->source = (struct source) {
    .ops = &ops, .size = (uint64_t) script->blocks * BLOCK
  };
  sem_init (&script->held, 0, 0);
  sem_init (&script->release, 0, 0);
  *error = (struct error) { "" };
  assert_int_equal (image_runs_open (image, &script->source, &request, group,
                                     error), 0);
}

static void
open_script (struct image_runs *image, struct script *script,
             struct error *error)
{
  open_member (image, script, NULL, error);
}

/* ---- The iterator ---- */

/* Take all: returns what ended it. */
static int
take_all (struct image_runs *image, const struct script *script,
          uint64_t *blocks)
{
  struct blkhash_manifest_run run;
  int err;

  *blocks = 0;
  while ((err = image->runs.next (&image->runs, &run)) == 0) {
    uint64_t i;

    assert_int_equal (run.first, *blocks);
    assert_true (run.count > 0);
    for (i = 0; i < run.count; i++)
      assert_int_equal (is_zero_block (script, run.first + i), !run.leaves);
    *blocks += run.count;
  }
  return err;
}

/* More than two batches hold, of either kind. */
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

/* Of leaves that have no length. */
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

/* The leaves are those of the blocks: two images that differ in two of them. */
static int
note (void *opaque, uint64_t first, uint64_t count)
{
  uint64_t *sum = opaque;

  *sum += 1000 * first + count;
  return 0;
}

static void
test_diff (void **state)
{
  struct script scripts[2] = {
    { .blocks = 20000, .hold = UINT32_MAX },
    { .blocks = 20000, .hold = UINT32_MAX, .zero = 12000 }
  };
  struct image_runs images[2];
  struct error errors[2];
  uint64_t sum = 0;
  struct leaf_diff diff = {
    .tail = LEAF_DIFF_NO_BLOCK, .differ = note, .opaque = &sum
  };
  int i;

  (void) state;
  for (i = 0; i < 2; i++)
    open_script (&images[i], &scripts[i], &errors[i]);
  assert_int_equal (leaf_diff (&diff, &images[0].runs, &images[1].runs), 0);
  assert_int_equal (leaf_diff_tell_last (&diff), 0);
  assert_int_equal (sum, 1 + 1000 * 12000 + 1);
  for (i = 0; i < 2; i++)
    image_runs_close (&images[i]);
}

/* What was hashed is seen, also if no more comes for now. */
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

/* Leaves of what comes before an error are given before it is. */
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

/* Who hashes waits for room, and nobody takes anything. */
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

/* It is within a read, and learns of it when that returns. */
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
  image.closed = true;          /* as image_runs_close begins */
  pthread_mutex_unlock (&image.lock);
  sem_post (&script.release);
  image_runs_close (&image);
  assert_int_equal (script.err, ECANCELED);
  assert_true (script.stopped);
}

/* ---- Two images ---- */

struct comparison {
  struct leaf_diff diff;
  struct image_runs *images;
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

  c->err = leaf_diff (&c->diff, &c->images[0].runs, &c->images[1].runs);
  return NULL;
}

/* One of them fails while the other waits for a stalled pipe, and leaves of
 * that are waited for: the error ends the comparison.
 */
static void
check_failure (int failing)
{
  struct script scripts[2];
  struct image_runs images[2];
  struct comparison c = {
    .diff = { .tail = LEAF_DIFF_NO_BLOCK }, .images = images
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
  sem_wait (&waits);            /* for leaves of the first */
  sem_post (&scripts[failing].release);
  pthread_join (thread, NULL);  /* the other still waits */
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

/* It has failed before the other is opened. */
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
  pthread_join (images[0].thread, NULL); /* image_runs_close joins another */
  pthread_create (&images[0].thread, NULL, do_nothing, NULL);
  open_member (&images[1], &stalls, &group, &errors[1]);
  assert_int_equal (images[1].runs.next (&images[1].runs, &run), ECANCELED);
  sem_post (&stalls.release);
  image_runs_close (&images[0]);
  image_runs_close (&images[1]);
  assert_string_equal (errors[1].text, "");
  image_group_destroy (&group);
}

/* One is far ahead of the other, and neither of them waits for ever. */
static void
test_far_ahead (void **state)
{
  struct script ahead = { .blocks = 30000, .hold = UINT32_MAX };
  struct script behind = { .blocks = 30000, .hold = 0 };
  struct image_runs images[2];
  struct comparison c = {
    .diff = { .tail = LEAF_DIFF_NO_BLOCK }, .images = images
  };
  struct error errors[2];
  pthread_t thread;

  (void) state;
  open_script (&images[1], &behind, &errors[1]);
  sem_wait (&behind.held);
  sem_init (&waits, 0, 0);
  open_script (&images[0], &ahead, &errors[0]);
  sem_wait (&waits);            /* for room */
  pthread_create (&thread, NULL, compare, &c);
  sem_post (&behind.release);
  pthread_join (thread, NULL);
  assert_int_equal (c.err, 0);
  assert_false (c.diff.any);
  image_runs_close (&images[0]);
  image_runs_close (&images[1]);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_all),
    cmocka_unit_test (test_null),
    cmocka_unit_test (test_diff),
    cmocka_unit_test (test_stalled),
    cmocka_unit_test (test_fails),
    cmocka_unit_test (test_close_blocked),
    cmocka_unit_test (test_close_reading),
    cmocka_unit_test (test_one_fails),
    cmocka_unit_test (test_failed_before),
    cmocka_unit_test (test_far_ahead),
  };

  int failed;

  opts = make_opts ("sha256");
  sem_init (&waits, 0, 0);
  alarm (120);
  failed = cmocka_run_group_tests (tests, NULL, NULL);
  blkhash_opts_free (opts);
  return failed;
}
