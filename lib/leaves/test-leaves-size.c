/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: a table whose size is set at any moment has the right sum and
 * counts, like one whose size was known from the start.
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

#include "blkhash.h"
#include "leaves/leaves-private.h"
#include "leaves/test-leaves.h"

#define MAX_SIZE (MAX_BLOCKS * BLOCK)
#define UNKNOWN BLKHASH_SIZE_UNKNOWN

static unsigned char image[MAX_SIZE];

static void
check_unfoldable (struct blkhash_leaves *l)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  assert_int_equal (blkhash_leaves_fold (l, md, NULL), ENODATA);
}

/* Check the sum of the first SIZE bytes of the image, all of which were given.
 */
static void
check_sum (struct blkhash_leaves *l, size_t size, unsigned streams)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE], expected[LEAF];
  uint64_t start, len, data, zero, expected_zero = 0;
  size_t at;

  for (at = 0; at < size; at += BLOCK)
    if (image_is_zero (image + at, image_block (size, at)))
      expected_zero += image_block (size, at);
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), ENOENT);
  blkhash_leaves_count (l, &data, &zero);
  assert_int_equal (zero, expected_zero);
  assert_int_equal (data, size - expected_zero);
  image_sum (image, size, streams, expected);
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
  assert_memory_equal (md, expected, LEAF);
}

/* ---- Any order ---- */

/* Give the ranges in their order, and set the size before range AT. */
static void
give_in_order (const struct range *ranges, unsigned count, unsigned at,
               size_t size, unsigned streams, unsigned flags)
{
  struct blkhash_leaves *l = image_table (UNKNOWN, streams, flags);
  bool zeros = image_random (2);
  unsigned i;

  for (i = 0; i <= count; i++) {
    if (i == at) {
      check_unfoldable (l);
      assert_int_equal (blkhash_leaves_set_size (l, size), 0);
    }
    if (i < count)
      assert_int_equal (image_give (l, image, ranges[i].offset, ranges[i].len,
                                    zeros), 0);
  }
  check_sum (l, size, streams);
  blkhash_leaves_free (l);
}

/* Try all permutations of the ranges from DONE on. */
static void
permute (struct range *ranges, unsigned count, unsigned done, size_t size)
{
  unsigned i;

  if (done == count)
    for (i = 0; i <= count; i++) {
      give_in_order (ranges, count, i, size, 0, 0);
      give_in_order (ranges, count, i, size, 0, BLKHASH_LEAVES_ONCE);
      give_in_order (ranges, count, i, size, 3, 0);
      give_in_order (ranges, count, i, size, 3, BLKHASH_LEAVES_ONCE);
    }
  for (i = done; i < count; i++) {
    range_swap (&ranges[done], &ranges[i]);
    permute (ranges, count, done + 1, size);
    range_swap (&ranges[done], &ranges[i]);
  }
}

/* The last block is full, or short and given in one piece, or short and given
 * in two pieces.
 */
static void
test_every_order (void **state)
{
  struct range full[] = { { 0, 64 }, { 64, 20 }, { 84, 44 }, { 128, 64 } };
  struct range one[] = { { 0, 64 }, { 64, 70 }, { 134, 58 }, { 192, 17 } };
  struct range two[] = { { 0, 30 }, { 30, 98 }, { 128, 9 }, { 137, 30 } };
  unsigned round;

  (void) state;
  for (round = 0; round < 3; round++) {
    image_fill (image, sizeof image);
    if (round == 0)
      memset (image, 0, sizeof image);
    permute (full, 4, 0, 192);
    permute (one, 4, 0, 209);
    permute (two, 4, 0, 167);
  }
}

static void
test_random_order (void **state)
{
  static struct range ranges[MAX_SIZE];
  unsigned round;

  (void) state;
  for (round = 0; round < 300; round++) {
    size_t size = image_random (round % 2 ? 4 * BLOCK : MAX_SIZE);
    unsigned count = image_ranges (ranges, size);

    image_fill (image, size);
    give_in_order (ranges, count,
                   image_random (2) ? count : image_random (count + 1), size,
                   image_random (2) ? 0 : 1 + image_random (MAX_STREAMS),
                   image_random (2) ? BLKHASH_LEAVES_ONCE : 0);
  }
}

/* ---- The end ---- */

static void
test_errors (void **state)
{
  struct blkhash_leaves *l = image_table (100, 0, 0);

  (void) state;
  image_fill (image, sizeof image);
  assert_int_equal (blkhash_leaves_set_size (l, 100), EINVAL);
  blkhash_leaves_free (l);

  l = image_table (UNKNOWN, 0, 0);
  assert_int_equal (blkhash_leaves_data (l, image, 101, 0), 0);
  /* A size is too small if content beyond it was given, even if that content
   * was then forgotten.  The error changes nothing.
   */
  assert_int_equal (blkhash_leaves_set_size (l, 100), EINVAL);
  assert_int_equal (blkhash_leaves_set_size (l, 0), EINVAL);
  assert_int_equal (blkhash_leaves_forget (l, UINT64_MAX, 0), 0);
  assert_int_equal (blkhash_leaves_set_size (l, 100), EINVAL);
  assert_int_equal (blkhash_leaves_data (l, image, 101, 0), 0);
  assert_int_equal (blkhash_leaves_data (l, image, 2, UINT64_MAX - 1), EINVAL);
  assert_int_equal (blkhash_leaves_set_size (l, 101), 0);
  assert_int_equal (blkhash_leaves_set_size (l, 101), EINVAL);
  assert_int_equal (blkhash_leaves_set_size (l, UNKNOWN), EINVAL);
  assert_int_equal (blkhash_leaves_data (l, image, 1, 101), EINVAL);
  assert_int_equal (blkhash_leaves_zero (l, 102, 0), EINVAL);
  assert_int_equal (blkhash_leaves_forget (l, 1, 101), EINVAL);
  check_sum (l, 101, 0);
  blkhash_leaves_free (l);

  /* If the image is empty, nothing has to be given. */
  l = image_table (UNKNOWN, 0, BLKHASH_LEAVES_ONCE);
  check_unfoldable (l);
  assert_int_equal (blkhash_leaves_forget (l, 1, 0), EEXIST);
  assert_int_equal (blkhash_leaves_set_size (l, 0), 0);
  check_sum (l, 0, 0);
  blkhash_leaves_free (l);
}

static void
check_missing (struct blkhash_leaves *l, uint64_t offset, uint64_t start,
               uint64_t len)
{
  uint64_t got_start, got_len;

  assert_int_equal (blkhash_leaves_next_missing (l, offset, &got_start,
                                                 &got_len), 0);
  assert_true (got_start == start);
  assert_true (got_len == len);
}

static void
test_missing (void **state)
{
  unsigned once;

  (void) state;
  image_fill (image, sizeof image);
  image[BLOCK + 9] = 1;
  for (once = 0; once < 2; once++) {
    struct blkhash_leaves *l = image_table (UNKNOWN, 0, once);
    uint64_t start, len;

    check_missing (l, 0, 0, UINT64_MAX);
    assert_int_equal (blkhash_leaves_data (l, image, BLOCK + 10, 0), 0);
    check_missing (l, 0, BLOCK + 10, BLOCK - 10);
    check_missing (l, 2 * BLOCK, 2 * BLOCK, UINT64_MAX - 2 * BLOCK);
    check_missing (l, UINT64_C (1) << 63, UINT64_C (1) << 63,
                   UINT64_MAX - (UINT64_C (1) << 63));
    assert_int_equal (blkhash_leaves_set_size (l, 3 * BLOCK + 1), 0);
    check_missing (l, 0, BLOCK + 10, BLOCK - 10);
    check_missing (l, 2 * BLOCK, 2 * BLOCK, BLOCK + 1);
    assert_int_equal (blkhash_leaves_next_missing (l, 3 * BLOCK + 1, &start,
                                                   &len), ENOENT);
    blkhash_leaves_free (l);
  }
}

/* The last block is changed several times, which needs a table without
 * BLKHASH_LEAVES_ONCE.
 */
static void
test_last_block (void **state)
{
  struct blkhash_leaves *l = image_table (UNKNOWN, 0, 0);

  (void) state;
  memset (image, 0, sizeof image);
  memset (image + BLOCK + 3, 7, 5);
  /* A part of a block of zeros is replaced. */
  assert_int_equal (blkhash_leaves_zero (l, 2 * BLOCK, 0), 0);
  assert_int_equal (blkhash_leaves_data (l, image + BLOCK, 30, BLOCK), 0);
  assert_int_equal (blkhash_leaves_set_size (l, 2 * BLOCK), 0);
  check_sum (l, 2 * BLOCK, 0);
  blkhash_leaves_free (l);

  /* The short last block is given several times, partly forgotten, and given
   * again.
   */
  l = image_table (UNKNOWN, 0, 0);
  assert_int_equal (blkhash_leaves_zero (l, BLOCK + 30, 0), 0);
  assert_int_equal (blkhash_leaves_data (l, image + BLOCK, 30, BLOCK), 0);
  assert_int_equal (blkhash_leaves_forget (l, 1, BLOCK + 29), 0);
  assert_int_equal (blkhash_leaves_zero (l, 1, BLOCK + 29), 0);
  assert_int_equal (blkhash_leaves_set_size (l, BLOCK + 30), 0);
  check_sum (l, BLOCK + 30, 0);
  assert_int_equal (blkhash_leaves_data (l, image + BLOCK, 1, BLOCK), 0);
  check_unfoldable (l);
  assert_int_equal (blkhash_leaves_data (l, image + BLOCK, 30, BLOCK), 0);
  check_sum (l, BLOCK + 30, 0);
  blkhash_leaves_free (l);
}

/* The largest possible image. */
static void
test_largest (void **state)
{
  uint64_t start, len, data, zero;
  struct blkhash_leaves *l = image_table (UNKNOWN, 0, 0);

  (void) state;
  assert_int_equal (blkhash_leaves_zero (l, UINT64_MAX, 0), 0);
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), ENOENT);
  check_unfoldable (l);
  assert_int_equal (blkhash_leaves_set_size (l, UINT64_MAX - 1), EINVAL);
  assert_int_equal (blkhash_leaves_set_size (l, UINT64_MAX), 0);
  assert_int_equal (blkhash_leaves_set_size (l, UINT64_MAX), EINVAL);
  blkhash_leaves_count (l, &data, &zero);
  assert_int_equal (data, 0);
  assert_true (zero == UINT64_MAX);
  blkhash_leaves_free (l);
}

/* ---- The size is set during a call ---- */

int __real_pthread_mutex_lock (pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock (pthread_mutex_t *lock);

/* Another thread sets the size just before the lock of the table is taken for
 * the AT-th time from now on, counted from 0.
 */
static struct setter {
  struct blkhash_leaves *l;
  unsigned at;
  size_t size;
  int err;
} *setter;                      /* set only while there is one thread */

static void *
set_size (void *opaque)
{
  struct setter *now = opaque;

  now->err = blkhash_leaves_set_size (now->l, now->size);
  return NULL;
}

int
__wrap_pthread_mutex_lock (pthread_mutex_t *lock)
{
  if (setter && lock == &setter->l->lock && setter->at-- == 0) {
    struct setter *now = setter;
    pthread_t thread;

    setter = NULL;
    if (pthread_create (&thread, NULL, set_size, now) != 0)
      abort ();
    pthread_join (thread, NULL);
  }
  return __real_pthread_mutex_lock (lock);
}

/* Set the size in the middle of a call.  Returns false if the call ended before
 * the AT-th lock.
 */
static bool
set_in_the_middle (unsigned at, bool forget, unsigned flags)
{
  const size_t size = 2 * BLOCK + 10;
  struct blkhash_leaves *l = image_table (BLKHASH_SIZE_UNKNOWN, 0, flags);
  struct setter now = { l, at, size, -1 };
  bool was_set;

  if (forget)
    assert_int_equal (blkhash_leaves_data (l, image, size, 0), 0);
  setter = &now;
  if (forget)
    assert_int_equal (blkhash_leaves_forget (l, 9 * BLOCK, BLOCK), 0);
  else
    assert_int_equal (blkhash_leaves_data (l, image, size, 0), 0);
  was_set = !setter;
  setter = NULL;
  if (!was_set)
    assert_int_equal (blkhash_leaves_set_size (l, size), 0);
  else
    assert_int_equal (now.err, 0);
  if (forget)
    assert_int_equal (blkhash_leaves_data (l, image + BLOCK, size - BLOCK,
                                           BLOCK), 0);
  check_sum (l, size, 0);
  blkhash_leaves_free (l);
  return was_set;
}

static void
test_in_the_middle (void **state)
{
  unsigned flags, at;

  (void) state;
  image_fill (image, sizeof image);
  memset (image + 2 * BLOCK, 1, 10);
  for (flags = 0; flags < 2; flags++)
    for (at = 0; set_in_the_middle (at, false, flags); at++)
      assert_true (at < 100);
  assert_true (at > 3);
  /* AT begins at 1: if the size were set before the first lock, the range would
   * end beyond the image, and be refused.
   */
  for (at = 1; set_in_the_middle (at, true, 0); at++)
    assert_true (at < 100);
  assert_true (at > 1);
}

/* The size is set just before a call checks a range that ends beyond it, so the
 * call fails.
 */
static void
test_just_before (void **state)
{
  struct blkhash_leaves *l = image_table (BLKHASH_SIZE_UNKNOWN, 0, 0);
  struct setter now = { l, 0, BLOCK + 9, -1 };

  (void) state;
  setter = &now;
  assert_int_equal (blkhash_leaves_data (l, image, BLOCK + 10, 0), EINVAL);
  assert_null (setter);
  assert_int_equal (now.err, 0);
  assert_int_equal (blkhash_leaves_data (l, image, BLOCK + 9, 0), 0);
  check_sum (l, BLOCK + 9, 0);
  blkhash_leaves_free (l);
}

/* ---- Threads ---- */

#define THREADS 3

struct giver {
  struct blkhash_leaves *l;
  pthread_barrier_t *start;
  const struct range *ranges;
  unsigned first, count;
  int err;
};

static void *
give_some (void *opaque)
{
  struct giver *giver = opaque;
  unsigned i;

  pthread_barrier_wait (giver->start);
  for (i = giver->first; i < giver->count && giver->err == 0; i += THREADS)
    giver->err = image_give (giver->l, image, giver->ranges[i].offset,
                             giver->ranges[i].len, i % 2);
  return NULL;
}

/* Other threads give the image while the main thread sets its size. */
static void
test_threads (void **state)
{
  static struct range ranges[MAX_SIZE];
  pthread_barrier_t start;
  unsigned round, i;

  (void) state;
  pthread_barrier_init (&start, NULL, THREADS + 1);
  for (round = 0; round < 100; round++) {
    size_t size = image_random (MAX_SIZE);
    unsigned count = image_ranges (ranges, size);
    struct blkhash_leaves *l = image_table (UNKNOWN, 0, round % 2);
    struct giver givers[THREADS];
    pthread_t threads[THREADS];

    image_fill (image, size);
    for (i = 0; i < THREADS; i++) {
      givers[i] = (struct giver) { l, &start, ranges, i, count, 0 };
      assert_int_equal (pthread_create (&threads[i], NULL, give_some,
                                        &givers[i]), 0);
    }
    pthread_barrier_wait (&start);
    assert_int_equal (blkhash_leaves_set_size (l, size), 0);
    for (i = 0; i < THREADS; i++) {
      pthread_join (threads[i], NULL);
      assert_int_equal (givers[i].err, 0);
    }
    check_sum (l, size, 0);
    blkhash_leaves_free (l);
  }
  pthread_barrier_destroy (&start);
}

/* Either the size or the range beyond it is refused, but not both. */
static void
test_race (void **state)
{
  static const struct range beyond[] = { { 0, BLOCK + 10 } };
  pthread_barrier_t start;
  unsigned round;

  (void) state;
  pthread_barrier_init (&start, NULL, 2);
  for (round = 0; round < 300; round++) {
    struct blkhash_leaves *l = image_table (UNKNOWN, 0, round % 2);
    struct giver giver = { l, &start, beyond, 0, 1, 0 };
    pthread_t thread;
    int err;

    assert_int_equal (pthread_create (&thread, NULL, give_some, &giver), 0);
    pthread_barrier_wait (&start);
    err = blkhash_leaves_set_size (l, BLOCK + 9);
    pthread_join (thread, NULL);
    assert_int_equal (err + giver.err, EINVAL);
    blkhash_leaves_free (l);
  }
  pthread_barrier_destroy (&start);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_every_order),
    cmocka_unit_test (test_random_order),
    cmocka_unit_test (test_errors),
    cmocka_unit_test (test_missing),
    cmocka_unit_test (test_last_block),
    cmocka_unit_test (test_largest),
    cmocka_unit_test (test_in_the_middle),
    cmocka_unit_test (test_just_before),
    cmocka_unit_test (test_threads),
    cmocka_unit_test (test_race),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
