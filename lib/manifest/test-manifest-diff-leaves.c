/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: leaf_diff_next finds the same differences between two iterators
 * with random runs as a plain loop over the blocks, of all blocks or of some.
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

#include "manifest/manifest-diff.h"

#define BLOCKS 400
#define LEAF 2                  /* bytes; the leaf of a block of zeros begins
                                 * with 0 */

/* The ranges that were returned. */
struct found {
  struct { uint64_t first, count; } ranges[BLOCKS];
  size_t count;
};

struct image {
  struct leaf_runs runs;
  unsigned char leaves[BLOCKS][LEAF];
  unsigned blocks;
  unsigned seed;
  unsigned next;                /* first block of the next run */
  int fail;                     /* error at the end, instead of ENOENT */
  unsigned shift;               /* wrongly added to all block numbers */
};

static bool
is_zero (const struct image *image, unsigned block)
{
  return block >= image->blocks || image->leaves[block][0] == 0;
}

/* Store the next run of data or zeros, cut at random to at most 30 blocks. */
static int
next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct image *image = (struct image *) runs;
  unsigned at = image->next, most = 1 + rand_r (&image->seed) % 30;
  bool zero = is_zero (image, at);

  if (at == image->blocks)
    return image->fail ? image->fail : ENOENT;
  while (image->next < image->blocks && image->next < at + most &&
         is_zero (image, image->next) == zero)
    image->next++;
  *run = (struct blkhash_manifest_run) {
    .first = at + image->shift, .count = image->next - at,
    .leaves = zero ? NULL : image->leaves[at], .leaf_size = LEAF
  };
  return 0;
}

/* Store the ranges in FOUND, or only the first with FIRST_ONLY.  Returns 0
 * after the last range.
 */
static int
compare (struct leaf_diff *diff, struct image *images, struct found *found)
{
  uint64_t first, count;
  int i, err;

  for (i = 0; i < 2; i++) {
    images[i].runs.next = next;
    images[i].next = 0;
    diff->inputs[i].runs = &images[i].runs;
  }
  found->count = 0;
  while ((err = leaf_diff_next (diff, &first, &count)) == 0) {
    assert_true (found->count < BLOCKS);
    found->ranges[found->count].first = first;
    found->ranges[found->count].count = count;
    found->count++;
    if (diff->first_only)
      return 0;
    if (diff->ended)            /* that was the last */
      assert_int_equal (leaf_diff_next (diff, &first, &count), ENOENT);
    if (diff->ended)
      return 0;
  }
  assert_int_equal (diff->ended, err == ENOENT);
  return err == ENOENT ? 0 : err;
}

static void
fill (struct image *image, unsigned *seed)
{
  unsigned i, kind = 0;

  image->blocks = rand_r (seed) % 2 ? BLOCKS : rand_r (seed) % (BLOCKS + 1);
  image->seed = rand_r (seed);
  for (i = 0; i < BLOCKS; i++) {
    if (rand_r (seed) % 10 == 0)
      kind = rand_r (seed) % 2;
    image->leaves[i][0] = kind;
    image->leaves[i][1] = 7;
  }
}

static bool
is_different (const struct leaf_diff *diff, const struct image *images,
              unsigned block)
{
  bool zero = is_zero (&images[0], block);

  if (diff->end > 0 && (block < diff->begin || block >= diff->end))
    return false;
  if (zero != is_zero (&images[1], block))
    return true;
  return !zero && memcmp (images[0].leaves[block], images[1].leaves[block],
                          LEAF) != 0;
}

static void
check_ranges (const struct leaf_diff *diff, const struct found *found,
              const struct image *images)
{
  size_t range = 0;
  unsigned i = 0;

  while (i < BLOCKS) {
    unsigned first = i;

    while (i < BLOCKS && is_different (diff, images, i))
      i++;
    if (i > first) {
      assert_true (range < found->count);
      assert_int_equal (found->ranges[range].first, first);
      assert_int_equal (found->ranges[range].count, i - first);
      range++;
    }
    else
      i++;
  }
  assert_int_equal (range, found->count);
  assert_int_equal (diff->any, range > 0);
}

static void
test_random (void **state)
{
  static struct image images[2];
  static struct found found;
  unsigned seed = 1;
  struct leaf_diff diff;
  uint64_t begin = 0, end = 0;
  int round, i;

  (void) state;
  for (round = 0; round < 600; round++) {
    if (round >= 300) {
      begin = rand_r (&seed) % BLOCKS;
      end = begin + 1 + rand_r (&seed) % BLOCKS;
    }
    fill (&images[0], &seed);
    if (rand_r (&seed) % 3 == 0)
      fill (&images[1], &seed);
    else {
      images[1] = images[0];
      images[1].seed = rand_r (&seed);
      for (i = rand_r (&seed) % 5; i > 0; i--)
        images[1].leaves[rand_r (&seed) % BLOCKS][rand_r (&seed) % LEAF] ^= 1;
    }
    diff = (struct leaf_diff) {
      .tail = LEAF_DIFF_NO_BLOCK, .begin = begin, .end = end
    };
    assert_int_equal (compare (&diff, images, &found), 0);
    check_ranges (&diff, &found, images);

    /* The first difference is returned at once. */
    diff = (struct leaf_diff) {
      .tail = LEAF_DIFF_NO_BLOCK, .begin = begin, .end = end,
      .first_only = true
    };
    assert_int_equal (compare (&diff, images, &found), 0);
    for (i = 0; i < BLOCKS && !is_different (&diff, images, i); i++)
      ;
    assert_int_equal (diff.any, i < BLOCKS);
    assert_int_equal (found.count, i < BLOCKS);
    if (diff.any) {
      assert_int_equal (found.ranges[0].first, i);
      assert_true (images[0].next <= i + 30);
    }
  }
}

/* Block 4 is short in one image only, so its leaves cannot be compared. */
static void
test_tail (void **state)
{
  static struct image images[2];
  static struct found found;
  struct leaf_diff diff = { .tail = 4 };

  (void) state;
  images[0].blocks = 5, images[1].blocks = 8;
  images[0].leaves[4][0] = 1, images[1].leaves[4][0] = 2;
  assert_int_equal (compare (&diff, images, &found), 0);
  assert_false (diff.any);
  assert_true (diff.tail_unknown);
  assert_int_equal (found.count, 0);

  /* Return the block, because it may differ. */
  diff = (struct leaf_diff) { .tail = 4, .report_tail = true };
  assert_int_equal (compare (&diff, images, &found), 0);
  assert_false (diff.any);
  assert_true (diff.tail_unknown);
  assert_int_equal (found.count, 1);
  assert_int_equal (found.ranges[0].first, 4);
  assert_int_equal (found.ranges[0].count, 1);

  /* It is merged with the blocks before and after it. */
  images[0].leaves[3][0] = 1, images[1].leaves[5][0] = 1;
  diff = (struct leaf_diff) { .tail = 4, .report_tail = true };
  assert_int_equal (compare (&diff, images, &found), 0);
  assert_int_equal (found.count, 1);
  assert_int_equal (found.ranges[0].first, 3);
  assert_int_equal (found.ranges[0].count, 3);
  diff = (struct leaf_diff) { .tail = 4 };
  assert_int_equal (compare (&diff, images, &found), 0);
  assert_true (diff.any);
  assert_int_equal (found.count, 2);
  assert_int_equal (found.ranges[0].count, 1);
  assert_int_equal (found.ranges[1].first, 5);

  /* It does not end a search for the first difference. */
  images[0].leaves[3][0] = 0, images[1].leaves[5][0] = 0;
  images[1].leaves[7][0] = 1;
  diff = (struct leaf_diff) { .tail = 4, .first_only = true };
  assert_int_equal (compare (&diff, images, &found), 0);
  assert_true (diff.any);
  assert_int_equal (found.ranges[0].first, 7);
  images[1].leaves[7][0] = 0;

  images[0].leaves[4][0] = 0;   /* zeros and data differ at any length */
  diff = (struct leaf_diff) { .tail = 4 };
  assert_int_equal (compare (&diff, images, &found), 0);
  assert_true (diff.any);
  assert_false (diff.tail_unknown);
  assert_int_equal (found.count, 1);
}

/* A range is returned when the next one was found: the images may end before
 * that.
 */
static void
test_order (void **state)
{
  static struct image images[2];
  static struct found found;
  struct leaf_diff diff = { .tail = LEAF_DIFF_NO_BLOCK };
  uint64_t first, count;

  (void) state;
  images[0].blocks = images[1].blocks = BLOCKS;
  images[0].leaves[3][0] = images[0].leaves[9][0] = 1;
  for (int i = 0; i < 2; i++) {
    images[i].runs.next = next;
    images[i].next = 0;
    diff.inputs[i].runs = &images[i].runs;
  }
  assert_int_equal (leaf_diff_next (&diff, &first, &count), 0);
  assert_int_equal (first, 3);
  assert_false (diff.ended);
  assert_true (images[0].next <= 10);
  assert_int_equal (leaf_diff_next (&diff, &first, &count), 0);
  assert_int_equal (first, 9);
  assert_true (diff.ended);
  assert_int_equal (leaf_diff_next (&diff, &first, &count), ENOENT);

  images[0].fail = EIO;         /* the last range is lost */
  diff = (struct leaf_diff) { .tail = LEAF_DIFF_NO_BLOCK };
  assert_int_equal (compare (&diff, images, &found), EIO);
  assert_int_equal (found.count, 1);
}

/* FAILED says which of the two iterators failed. */
static void
test_iterator_fails (void **state)
{
  static struct image images[2];
  static struct found found;
  struct leaf_diff diff;
  int i;

  (void) state;
  for (i = 0; i < 2; i++) {
    images[i].blocks = 7, images[!i].blocks = BLOCKS;
    images[i].fail = EIO, images[!i].fail = 0;
    diff = (struct leaf_diff) { .tail = LEAF_DIFF_NO_BLOCK };
    assert_int_equal (compare (&diff, images, &found), EIO);
    assert_int_equal (diff.failed, i);
  }
}

/* Leaves of different blocks are never compared. */
static void
test_other_blocks (void **state)
{
  static struct image images[2];
  static struct found found;
  struct leaf_diff diff;
  int i;

  (void) state;
  images[0].blocks = images[1].blocks = BLOCKS;
  for (i = 0; i < 2; i++) {
    images[i].shift = 1, images[!i].shift = 0;
    diff = (struct leaf_diff) { .tail = LEAF_DIFF_NO_BLOCK };
    assert_int_equal (compare (&diff, images, &found), EINVAL);
    assert_int_equal (diff.failed, -1);
    assert_int_equal (found.count, 0);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_tail),
    cmocka_unit_test (test_order),
    cmocka_unit_test (test_iterator_fails),
    cmocka_unit_test (test_other_blocks),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
