/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: two threads bring blocks in random runs, and what differs is what
 * a plain loop finds.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "job/meet.h"

#define BLOCKS 400
#define LEAF 2                  /* bytes; zero: a block of zeros */

/* What differs, as it was told. */
struct told {
  struct meet_range ranges[BLOCKS];
  size_t count;
  int fail;                     /* that is what it returns */
};

struct image {
  unsigned char leaves[BLOCKS][LEAF];
  unsigned blocks;
  unsigned seed;                /* of its thread */
  struct meet *meet;
  int index;
  int result;
};

static bool
is_zero (const struct image *image, unsigned block)
{
  return block >= image->blocks || image->leaves[block][0] == 0;
}

/* A run of data, or of zeros, is cut at random. */
static void *
bring (void *arg)
{
  struct image *image = arg;
  unsigned at = 0;

  while (at < image->blocks && image->result == 0) {
    bool zero = is_zero (image, at);
    unsigned most = 1 + rand_r (&image->seed) % 30, count = 0;
    struct blkhash_manifest_run run = { .first = at, .leaf_size = LEAF };

    while (at + count < image->blocks && count < most &&
           is_zero (image, at + count) == zero)
      count++;
    run.count = count;
    run.leaves = zero ? NULL : image->leaves[at];
    image->result = meet_blocks (image->meet, image->index, &run);
    at += count;
  }
  if (image->result == 0)
    meet_end (image->meet, image->index);
  return NULL;
}

static void
run_both (struct meet *meet, struct image *images)
{
  pthread_t thread;
  int i;

  for (i = 0; i < 2; i++) {
    images[i].meet = meet;
    images[i].index = i;
    images[i].result = 0;
  }
  assert_int_equal (pthread_create (&thread, NULL, bring, &images[0]), 0);
  bring (&images[1]);
  pthread_join (thread, NULL);
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
is_different (const struct image *images, unsigned block)
{
  bool zero = is_zero (&images[0], block);

  if (zero != is_zero (&images[1], block))
    return true;
  return !zero && memcmp (images[0].leaves[block], images[1].leaves[block],
                          LEAF) != 0;
}

static int
tell (void *opaque, const struct meet_range *range)
{
  struct told *told = opaque;

  if (told->count < BLOCKS)
    told->ranges[told->count] = *range;
  told->count++;
  return told->fail;
}

static void
check_ranges (const struct meet *meet, const struct told *told,
              const struct image *images)
{
  size_t range = 0;
  unsigned i = 0;

  while (i < BLOCKS) {
    unsigned first = i;

    while (i < BLOCKS && is_different (images, i))
      i++;
    if (i > first) {
      assert_true (range < told->count);
      assert_int_equal (told->ranges[range].first, first);
      assert_int_equal (told->ranges[range].count, i - first);
      range++;
    }
    else
      i++;
  }
  assert_int_equal (range, told->count);
  assert_int_equal (meet->differ, range > 0);
}

static void
test_random (void **state)
{
  static struct image images[2];
  static struct told told;
  unsigned seed = 1;
  struct meet meet;
  int round, i;

  (void) state;
  for (round = 0; round < 300; round++) {
    fill (&images[0], &seed);
    if (rand_r (&seed) % 3 == 0)
      fill (&images[1], &seed);
    else {
      images[1] = images[0];
      images[1].seed = rand_r (&seed);
      for (i = rand_r (&seed) % 5; i > 0; i--)
        images[1].leaves[rand_r (&seed) % BLOCKS][rand_r (&seed) % LEAF] ^= 1;
    }
    told.count = 0;
    meet_init (&meet, LEAF_DIFF_NO_BLOCK, tell, &told);
    run_both (&meet, images);
    assert_int_equal (images[0].result, 0);
    assert_int_equal (images[1].result, 0);
    assert_int_equal (meet_tell_last (&meet), 0);
    check_ranges (&meet, &told, images);
    meet_destroy (&meet);

    /* Both stop if only that is asked. */
    meet_init (&meet, LEAF_DIFF_NO_BLOCK, NULL, NULL);
    run_both (&meet, images);
    for (i = 0; i < BLOCKS && !is_different (images, i); i++)
      ;
    assert_int_equal (meet.differ, i < BLOCKS);
    assert_int_equal (meet.stopped, meet.differ);
    meet_destroy (&meet);
  }
}

/* Leaves of blocks of different lengths say nothing. */
static void
test_tail (void **state)
{
  static struct image images[2];
  struct told told = { .count = 0 };
  struct meet meet;

  (void) state;
  memset (images, 0, sizeof images);
  images[0].blocks = 5, images[1].blocks = 8;
  images[0].leaves[4][0] = 1, images[1].leaves[4][0] = 2;
  meet_init (&meet, 4, tell, &told);
  run_both (&meet, images);
  assert_false (meet.differ);
  assert_true (meet.tail_unknown);
  assert_int_equal (told.count, 0);
  assert_int_equal (meet_tell_last (&meet), 0); /* should the sizes differ */
  assert_int_equal (told.count, 1);
  assert_int_equal (told.ranges[0].first, 4);
  assert_int_equal (told.ranges[0].count, 1);
  meet_destroy (&meet);

  images[0].leaves[4][0] = 0;   /* but zeros are not data */
  meet_init (&meet, 4, tell, &told);
  run_both (&meet, images);
  assert_true (meet.differ);
  assert_false (meet.tail_unknown);
  meet_destroy (&meet);
}

/* Who is told says that it failed, at the first range or at the last. */
static void
test_tell_fails (void **state)
{
  static struct image images[2];
  struct told told = { .fail = ENOSPC };
  struct meet meet;

  (void) state;
  memset (images, 0, sizeof images);
  images[0].blocks = images[1].blocks = BLOCKS;
  images[0].leaves[3][0] = images[0].leaves[9][0] = 1;
  meet_init (&meet, LEAF_DIFF_NO_BLOCK, tell, &told);
  run_both (&meet, images);
  assert_int_equal (meet.error, ENOSPC);
  assert_true (images[0].result == ENOSPC || images[1].result == ENOSPC);
  assert_int_equal (meet_tell_last (&meet), ENOSPC);
  assert_int_equal (told.count, 1);
  meet_destroy (&meet);

  told.count = 0;
  images[0].leaves[9][0] = 0;
  meet_init (&meet, LEAF_DIFF_NO_BLOCK, tell, &told);
  run_both (&meet, images);
  assert_int_equal (meet.error, 0);
  assert_int_equal (meet_tell_last (&meet), ENOSPC);
  assert_int_equal (told.count, 1);
  meet_destroy (&meet);
}

struct stopper {
  struct meet *meet;
  bool first;
};

static void *
run_stopper (void *arg)
{
  struct stopper *stopper = arg;

  stopper->first = meet_stop (stopper->meet);
  return NULL;
}

/* Who waits for the other is told when that one failed. */
static void
test_stop (void **state)
{
  static struct image image = { .blocks = 3 };
  struct meet meet;
  struct stopper stopper = { .meet = &meet };
  pthread_t thread;

  (void) state;
  meet_init (&meet, LEAF_DIFF_NO_BLOCK, NULL, NULL);
  image.meet = &meet;
  assert_int_equal (pthread_create (&thread, NULL, run_stopper, &stopper), 0);
  bring (&image);
  pthread_join (thread, NULL);
  assert_int_equal (image.result, ECANCELED);
  assert_true (stopper.first);
  assert_false (meet_stop (&meet));
  meet_destroy (&meet);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_tail),
    cmocka_unit_test (test_tell_fails),
    cmocka_unit_test (test_stop),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
