/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the leaves of an image over a manifest.  Each leaf that the
 * iterator returns is checked.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/overlay-runs.h"
#include "util/error.h"
#include "util/progress.h"
#include "util/ranges.h"

#define BLOCKS 500
#define BLOCK 65536             /* bytes: a unit of the sample */
#define SIZE (BLOCKS * BLOCK - 1000)
#define LEAF 2                  /* bytes; if the first is 0, a block of zeros */

/* The leaves of an image in memory, and an iterator of them. */
struct memory_runs {
  struct leaf_runs runs;
  unsigned char leaves[BLOCKS][LEAF];
  unsigned blocks;
  unsigned seed;
  unsigned next;                /* block */
  int fail;                     /* error to return instead of ENOENT */
};

static uint64_t reported;       /* bytes */

static void
update (const struct progress *progress, enum progress_step step, uint64_t len)
{
  (void) progress;
  assert_int_equal (step, PROGRESS_ADD);
  reported += len;
}

static const struct progress progress = { .update = update };

static bool
is_zero (const struct memory_runs *iter, unsigned block)
{
  return iter->leaves[block][0] == 0;
}

/* Runs of data or of zeros are returned in pieces of random length. */
static int
next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct memory_runs *iter = (struct memory_runs *) runs;
  unsigned at = iter->next, most = 1 + rand_r (&iter->seed) % 30;
  bool zero;

  if (at == iter->blocks)
    return iter->fail ? iter->fail : ENOENT;
  zero = is_zero (iter, at);
  while (iter->next < iter->blocks && iter->next < at + most &&
         is_zero (iter, iter->next) == zero)
    iter->next++;
  *run = (struct blkhash_manifest_run) {
    .first = at, .count = iter->next - at,
    .leaves = zero ? NULL : iter->leaves[at], .leaf_size = LEAF
  };
  return 0;
}

static void
fill (struct memory_runs *iter, unsigned *seed)
{
  unsigned i, data = 0;

  *iter = (struct memory_runs) {
    .runs.next = next, .blocks = BLOCKS, .seed = rand_r (seed)
  };
  for (i = 0; i < BLOCKS; i++) {
    if (rand_r (seed) % 10 == 0)
      data = rand_r (seed) % 2;
    iter->leaves[i][0] = data;
    iter->leaves[i][1] = data * (1 + rand_r (seed) % 3);
  }
}

/* Read all leaves.  Returns how the iterator ended. */
static int
take (struct leaf_runs *runs, struct memory_runs *to)
{
  struct blkhash_manifest_run run;
  int err;

  *to = (struct memory_runs) { .blocks = 0 };
  while ((err = runs->next (runs, &run)) == 0) {
    assert_int_equal (run.first, to->blocks);
    assert_true (run.count > 0 && run.count <= BLOCKS - to->blocks);
    if (run.leaves)
      memcpy (to->leaves[to->blocks], run.leaves, run.count * LEAF);
    to->blocks += run.count;
  }
  return err;
}

static void
choose (struct audit_sample *sample, struct ranges *unknown, unsigned *seed)
{
  int i;

  *unknown = (struct ranges) { 0 };
  for (i = rand_r (seed) % 5; i > 0; i--)
    assert_int_equal (ranges_add (unknown, rand_r (seed) % BLOCKS * BLOCK,
                                  rand_r (seed) % 50 * BLOCK / 2), 0);
  assert_int_equal (audit_sample_init (sample, SIZE, BLOCK, unknown,
                                       rand_r (seed) % 3 * (STRATA_ALL / 2),
                                       rand_r (seed)), 0);
}

static enum sample_class
class_of (const struct audit_sample *sample, unsigned block)
{
  uint64_t len;

  return audit_sample_at (sample, (uint64_t) block * BLOCK, &len);
}

/* The bytes that were reported as different, in order, without gaps between two
 * reports, which would be one range.
 */
static bool differs[BLOCKS];
static uint64_t last_end, block_bytes, image_bytes;

static void
report (void *opaque, uint64_t start, uint64_t length)
{
  uint64_t end = start + length;

  assert_ptr_equal (opaque, differs);
  assert_true (length > 0 && end <= image_bytes);
  assert_true (start > last_end || last_end == 0);
  assert_true (start % block_bytes == 0);
  assert_true (end % block_bytes == 0 || end == image_bytes);
  for (; start < end; start += block_bytes)
    differs[start / block_bytes] = true;
  last_end = end;
}

static void
reset_report (uint64_t size, uint64_t block_size)
{
  memset (differs, 0, sizeof differs);
  last_end = 0;
  image_bytes = size;
  block_bytes = block_size;
}

/* EXPECTED is the base with random changes in blocks of the class CHANGE.
 * IMAGE is EXPECTED with zeros in the trusted blocks, which would not be read.
 * WRONG gets the audited blocks that were changed.  Returns whether there are
 * any.
 */
static bool
make_images (struct memory_runs *base, struct memory_runs *image,
             struct memory_runs *expected, const struct audit_sample *sample,
             enum sample_class change, bool wrong[BLOCKS], unsigned *seed)
{
  bool any = false;
  unsigned i;

  memset (wrong, 0, BLOCKS * sizeof *wrong);
  fill (base, seed);
  *expected = *base;
  for (i = 0; i < BLOCKS; i++)
    if (class_of (sample, i) == change && rand_r (seed) % 8 == 0) {
      bool was_zero = is_zero (base, i);

      expected->leaves[i][0] = was_zero || rand_r (seed) % 2;
      expected->leaves[i][1] = expected->leaves[i][0] ? 9 : 0;
      wrong[i] = change == SAMPLE_AUDITED;
      any |= wrong[i];
    }
  *image = *expected;
  for (i = 0; i < BLOCKS; i++)
    if (class_of (sample, i) == SAMPLE_TRUSTED)
      memset (image->leaves[i], 0, LEAF);
  return any;
}

/* Check the number of zeros from the base, and the progress, which counts the
 * bytes of the leaves that were taken from the base.
 */
static void
check_sums (const struct overlay_runs *overlay,
            const struct memory_runs *expected,
            const struct audit_sample *sample)
{
  uint64_t zeros = 0, trusted = 0;
  unsigned i;

  for (i = 0; i < BLOCKS; i++)
    if (class_of (sample, i) == SAMPLE_TRUSTED) {
      trusted++;
      if (is_zero (expected, i))
        zeros += i < BLOCKS - 1 ? BLOCK : BLOCK - 1000;
    }
  assert_int_equal (overlay->base_zeros, zeros);
  assert_int_equal (reported, trusted * LEAF);
}

static void
check_overlay (enum sample_class change, unsigned *seed)
{
  static struct memory_runs base, image, expected, got;
  struct audit_sample sample;
  struct ranges unknown;
  struct error error = { "" };
  struct overlay_runs overlay = {
    .base = &base.runs, .image = &image.runs, .sample = &sample,
    .base_name = "base", .size = SIZE,
    .block_size = BLOCK, .progress = &progress, .error = &error,
    .report = report, .opaque = differs
  };
  bool wrong[BLOCKS], any;

  choose (&sample, &unknown, seed);
  any = make_images (&base, &image, &expected, &sample, change, wrong, seed);
  overlay_runs_init (&overlay);
  reported = 0;
  reset_report (SIZE, BLOCK);
  assert_int_equal (take (&overlay.runs, &got), ENOENT);
  assert_int_equal (got.blocks, BLOCKS);
  assert_memory_equal (got.leaves, expected.leaves, got.blocks * LEAF);
  assert_int_equal (overlay.differs, any);
  assert_memory_equal (differs, wrong, sizeof wrong);
  assert_int_equal (base.next, BLOCKS);
  check_sums (&overlay, &expected, &sample);
  assert_false (error_is_set (&error));
  audit_sample_destroy (&sample);
  ranges_free (&unknown);
}

static void
test_overlay (void **state)
{
  unsigned seed = 1;
  int round;

  (void) state;
  for (round = 0; round < 500; round++) {
    check_overlay (SAMPLE_UNKNOWN, &seed);
    check_overlay (SAMPLE_AUDITED, &seed);
  }
}

/* A unit of the sample has 16 blocks; some of them differ. */
static void
test_overlay_small_blocks (void **state)
{
  static struct memory_runs base, image, got;
  const uint32_t block_size = BLOCK / 16;
  struct audit_sample sample;
  struct ranges unknown = { 0 };
  struct error error = { "" };
  struct overlay_runs overlay = {
    .base = &base.runs, .image = &image.runs, .sample = &sample,
    .base_name = "base", .size = BLOCKS * block_size,
    .block_size = block_size, .progress = &progress, .error = &error,
    .report = report, .opaque = differs
  };
  const struct overlay_runs fresh = overlay;
  bool wrong[BLOCKS] = { [37] = true, [38] = true, [BLOCKS - 1] = true };
  unsigned seed = 1, i;

  (void) state;
  assert_int_equal (audit_sample_init (&sample, overlay.size, block_size,
                                       &unknown, STRATA_ALL, 1), 0);
  fill (&base, &seed);
  memset (base.leaves, 1, sizeof base.leaves);
  image = base;
  for (i = 0; i < BLOCKS; i++)
    image.leaves[i][1] += wrong[i];
  overlay_runs_init (&overlay);
  reset_report (overlay.size, block_size);
  assert_int_equal (take (&overlay.runs, &got), ENOENT);
  assert_true (overlay.differs);
  assert_memory_equal (differs, wrong, sizeof wrong);

  /* The last range is also reported if the image cannot be read behind it. */
  overlay = fresh;
  base.next = image.next = 0;
  image.blocks = 39, image.fail = ECANCELED;
  wrong[BLOCKS - 1] = false;
  overlay_runs_init (&overlay);
  reset_report (overlay.size, block_size);
  assert_int_equal (take (&overlay.runs, &got), ECANCELED);
  assert_memory_equal (differs, wrong, sizeof wrong);
  audit_sample_destroy (&sample);
}

/* An error of either iterator is returned, even if it comes after the last
 * block: a base whose end is wrong must not be used.
 */
static void
test_overlay_fails (void **state)
{
  static struct memory_runs base, image, got;
  struct audit_sample sample;
  struct ranges unknown = { 0 };
  struct error error = { "" };
  struct overlay_runs overlay = {
    .base = &base.runs, .image = &image.runs, .sample = &sample,
    .base_name = "base", .size = SIZE,
    .block_size = BLOCK, .error = &error
  };
  const struct overlay_runs fresh = overlay;
  unsigned seed = 1;

  (void) state;
  assert_int_equal (audit_sample_init (&sample, SIZE, BLOCK, &unknown, 0, 1),
                    0);
  fill (&base, &seed);
  image = base;
  base.fail = EIO;
  overlay_runs_init (&overlay);
  assert_int_equal (take (&overlay.runs, &got), EIO);
  assert_int_equal (got.blocks, BLOCKS);

  overlay = fresh;
  fill (&base, &seed);
  image = base;
  image.blocks = 7, image.fail = ECANCELED;
  overlay_runs_init (&overlay);
  assert_int_equal (take (&overlay.runs, &got), ECANCELED);
  assert_int_equal (got.blocks, 7);
  assert_false (overlay.differs);
  audit_sample_destroy (&sample);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_overlay),
    cmocka_unit_test (test_overlay_small_blocks),
    cmocka_unit_test (test_overlay_fails),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
