/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: in whatever order an image is given, its sink receives each block
 * once and in order, and each run of zeros in one call.  If the sink fails, so
 * does the fold.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash.h"
#include "leaves/test-leaves.h"

#define MAX_SIZE (MAX_BLOCKS * BLOCK)

static unsigned char image[MAX_SIZE];

/* The calls of a sink.  WRONG counts errors, as threads cannot use asserts. */
struct log {
  uint64_t next;                /* index of the next block */
  unsigned runs, zero_runs, parts;
  bool last_was_zero;
  unsigned char leaves[MAX_BLOCKS][LEAF]; /* all zero for a block of zeros */
  unsigned wrong;
  int fail_at, err;             /* call FAIL_AT (from 1) fails with ERR */
  atomic_int inside;            /* threads in a callback */
};

static int
log_call (struct log *log, uint64_t index, uint64_t count, bool zero)
{
  unsigned call = log->parts++;

  if (atomic_fetch_add (&log->inside, 1) > 0)
    log->wrong++;
  if (index == 0 && log->next > 0) /* a new fold starts */
    log->next = 0;
  else if (zero && log->last_was_zero)
    log->wrong++;
  if (index != log->next || count == 0)
    log->wrong++;
  log->next = index + count;
  log->last_was_zero = zero;
  atomic_fetch_sub (&log->inside, 1);
  return call + 1 == (unsigned) log->fail_at ? log->err : 0;
}

static int
log_data (void *opaque, uint64_t index, size_t count,
          const unsigned char *leaves, size_t leaf_size)
{
  struct log *log = opaque;

  if (leaf_size != LEAF || index + count > MAX_BLOCKS)
    log->wrong++;
  else
    memcpy (log->leaves[index], leaves, count * LEAF);
  return log_call (log, index, count, false);
}

static int
log_zero (void *opaque, uint64_t index, uint64_t count)
{
  struct log *log = opaque;

  log->zero_runs++;
  if (index + count <= MAX_BLOCKS)
    memset (log->leaves[index], 0, count * LEAF);
  return log_call (log, index, count, true);
}

static void
set_log (struct blkhash_leaves *l, struct log *log)
{
  struct blkhash_leaf_sink sink = {
    .data = log_data, .zero = log_zero, .opaque = log
  };

  assert_int_equal (blkhash_leaves_set_sink (l, &sink), 0);
  memset (&sink, 0, sizeof sink); /* the sink was copied */
}

static void
check_log (const struct log *log, size_t size)
{
  unsigned char leaf[LEAF];
  uint64_t blocks = (size + BLOCK - 1) / BLOCK, i;

  assert_int_equal (log->wrong, 0);
  assert_int_equal (log->next, blocks);
  for (i = 0; i < blocks; i++) {
    size_t at = i * BLOCK, len = image_block (size, at);

    if (image_is_zero (image + at, len))
      memset (leaf, 0, sizeof leaf);
    else
      image_leaf (image + at, len, leaf);
    assert_memory_equal (log->leaves[i], leaf, LEAF);
  }
}

static void
check_fold (struct blkhash_leaves *l, size_t size, unsigned streams)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE], expected[LEAF];

  image_sum (image, size, streams, expected);
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
  assert_memory_equal (md, expected, LEAF);
}

static void
give_all (struct blkhash_leaves *l, size_t size)
{
  static struct range ranges[MAX_SIZE];
  unsigned count = image_ranges (ranges, size), i;

  for (i = 0; i < count; i++)
    assert_int_equal (image_give (l, image, ranges[i].offset, ranges[i].len,
                                  image_random (2)), 0);
}

static void
test_random (void **state)
{
  unsigned round, once;

  (void) state;
  for (round = 0; round < 200; round++)
    for (once = 0; once < 2; once++) {
      size_t size = image_random (round % 2 ? 4 * BLOCK : MAX_SIZE);
      unsigned streams = image_random (2) ? 0 : 1 + image_random (MAX_STREAMS);
      bool known = image_random (2);
      struct log log = { .next = 0 };
      struct blkhash_leaves *l =
        image_table (known ? size : BLKHASH_SIZE_UNKNOWN, streams, once);

      image_fill (image, size);
      set_log (l, &log);
      give_all (l, size);
      if (!known)
        assert_int_equal (blkhash_leaves_set_size (l, size), 0);
      check_fold (l, size, streams);
      check_log (&log, size);
      blkhash_leaves_free (l);
    }
}

/* Each fold passes the leaves of all blocks, with their current content. */
static void
test_folded_again (void **state)
{
  struct blkhash_leaves *l = image_table (MAX_SIZE - 9, 0, 0);
  struct log first = { .next = 0 }, log;
  unsigned i;

  (void) state;
  image_fill (image, sizeof image);
  give_all (l, MAX_SIZE - 9);
  check_fold (l, MAX_SIZE - 9, 0);
  set_log (l, &first);
  for (i = 0; i < 3; i++) {
    log = first = (struct log) { .next = 0 };
    check_fold (l, MAX_SIZE - 9, 0);
    check_log (&first, MAX_SIZE - 9);
    image[i * BLOCK] ^= 0x80;
    assert_int_equal (blkhash_leaves_data (l, image + i * BLOCK, BLOCK,
                                           i * BLOCK), 0);
  }
  /* Set another sink, and then none. */
  first = (struct log) { .next = 0 };
  set_log (l, &log);
  check_fold (l, MAX_SIZE - 9, 0);
  check_log (&log, MAX_SIZE - 9);
  assert_int_equal (blkhash_leaves_set_sink (l, NULL), 0);
  log.parts = 0;
  check_fold (l, MAX_SIZE - 9, 0);
  assert_int_equal (first.parts + log.parts, 0);
  blkhash_leaves_free (l);
}

/* A table with BLKHASH_LEAVES_ONCE does not keep leaves that it can pass on. */
static void
test_called_early (void **state)
{
  struct blkhash_leaves *l = image_table (6 * BLOCK, 0, BLKHASH_LEAVES_ONCE);
  struct log log = { .next = 0 };

  (void) state;
  memset (image, 1, sizeof image);
  memset (image + BLOCK, 0, 2 * BLOCK);
  memset (image + 4 * BLOCK, 0, 2 * BLOCK);
  set_log (l, &log);
  assert_int_equal (blkhash_leaves_data (l, image, BLOCK, 0), 0);
  assert_int_equal (log.next, 1);
  assert_int_equal (blkhash_leaves_zero (l, BLOCK, BLOCK), 0);
  assert_int_equal (blkhash_leaves_data (l, image + 3 * BLOCK, BLOCK,
                                         3 * BLOCK), 0);
  assert_int_equal (log.next, 1);
  assert_int_equal (blkhash_leaves_zero (l, BLOCK, 2 * BLOCK), 0);
  assert_int_equal (log.next, 4);
  assert_int_equal (log.zero_runs, 1);
  assert_int_equal (blkhash_leaves_zero (l, 2 * BLOCK, 4 * BLOCK), 0);
  assert_int_equal (log.next, 4);
  check_fold (l, 6 * BLOCK, 0);
  assert_int_equal (log.zero_runs, 2);
  check_log (&log, 6 * BLOCK);
  blkhash_leaves_free (l);
}

/* If one block of a batch was already given, the sink gets none of the others,
 * and they can be given in another call.
 */
static void
test_given_twice (void **state)
{
  struct blkhash_leaves *l = image_table (5 * BLOCK, 0, BLKHASH_LEAVES_ONCE);
  struct log log = { .next = 0 };
  uint64_t start, len;

  (void) state;
  memset (image, 1, sizeof image);
  memset (image + BLOCK, 0, BLOCK);
  set_log (l, &log);
  assert_int_equal (blkhash_leaves_data (l, image + 3 * BLOCK, BLOCK,
                                         3 * BLOCK), 0);
  assert_int_equal (blkhash_leaves_data (l, image, 5 * BLOCK, 0), EEXIST);
  assert_int_equal (log.parts, 0);
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), 0);
  assert_int_equal (start, 0);
  assert_int_equal (len, 3 * BLOCK);
  assert_int_equal (blkhash_leaves_data (l, image, 3 * BLOCK, 0), 0);
  assert_int_equal (blkhash_leaves_data (l, image + 4 * BLOCK, BLOCK,
                                         4 * BLOCK), 0);
  check_fold (l, 5 * BLOCK, 0);
  check_log (&log, 5 * BLOCK);
  blkhash_leaves_free (l);
}

/* The sink gets a run of zeros in one call, although it is folded in steps. */
static void
test_long_run (void **state)
{
  uint64_t blocks = 3000000;
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned once;

  (void) state;
  for (once = 0; once < 2; once++) {
    struct blkhash_leaves *l = image_table (blocks * BLOCK - 1, 0, once);
    struct log log = { .next = 0 };

    set_log (l, &log);
    assert_int_equal (blkhash_leaves_zero (l, blocks * BLOCK - 1, 0), 0);
    assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
    assert_int_equal (log.parts, 1);
    assert_int_equal (log.zero_runs, 1);
    assert_int_equal (log.next, blocks);
    blkhash_leaves_free (l);
  }
}

/* If no sum is computed, 2^58 blocks of zeros take no time. */
static void
test_no_sum (void **state)
{
  const unsigned flags = BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM;
  uint64_t size = UINT64_MAX - BLOCK;
  struct blkhash_leaves *l = image_table (size, 0, flags);
  struct log log = { .next = 0 };
  unsigned len = 1;

  (void) state;
  memset (image, 1, sizeof image);
  set_log (l, &log);
  assert_int_equal (blkhash_leaves_data (l, image, BLOCK, 0), 0);
  assert_int_equal (blkhash_leaves_fold (l, NULL, &len), ENODATA);
  assert_int_equal (blkhash_leaves_zero (l, size - BLOCK, BLOCK), 0);
  assert_int_equal (blkhash_leaves_fold (l, NULL, &len), 0);
  assert_int_equal (len, 0);
  assert_int_equal (log.zero_runs, 1);
  assert_true (log.next == size / BLOCK + 1);
  assert_int_equal (blkhash_leaves_fold (l, NULL, &len), EINVAL);
  blkhash_leaves_free (l);

  /* Zeros are passed immediately. */
  l = image_table (3 * BLOCK, 0, flags);
  log = (struct log) { .next = 0 };
  set_log (l, &log);
  assert_int_equal (blkhash_leaves_zero (l, BLOCK, 0), 0);
  assert_int_equal (log.next, 1);
  assert_int_equal (blkhash_leaves_data (l, image, BLOCK, 2 * BLOCK), 0);
  assert_int_equal (log.next, 1);
  assert_int_equal (blkhash_leaves_zero (l, BLOCK, BLOCK), 0);
  assert_int_equal (log.next, 3);
  assert_int_equal (blkhash_leaves_fold (l, NULL, NULL), 0);
  blkhash_leaves_free (l);

  l = image_table (MAX_SIZE - 9, 0, flags);
  log = (struct log) { .next = 0 };
  set_log (l, &log);
  assert_int_equal (blkhash_leaves_data (l, image, MAX_SIZE - 9, 0), 0);
  assert_int_equal (blkhash_leaves_fold (l, NULL, NULL), 0);
  check_log (&log, MAX_SIZE - 9);
  blkhash_leaves_free (l);

  assert_null (blkhash_leaves_new (NULL, 0, BLKHASH_LEAVES_NO_SUM));
  assert_int_equal (errno, EINVAL);
}

static void
test_when (void **state)
{
  struct blkhash_leaf_sink no_data = {
    .data = NULL, .zero = log_zero, .opaque = NULL
  };
  struct blkhash_leaf_sink no_zero = {
    .data = log_data, .zero = NULL, .opaque = NULL
  };
  struct blkhash_leaf_sink later = {
    .data = log_data, .zero = log_zero, .reserved = { [3] = image }
  };
  struct blkhash_leaves *l = image_table (2 * BLOCK, 0, BLKHASH_LEAVES_ONCE);

  (void) state;
  memset (image, 1, sizeof image);
  assert_int_equal (blkhash_leaves_set_sink (l, &no_data), EINVAL);
  assert_int_equal (blkhash_leaves_set_sink (l, &no_zero), EINVAL);
  assert_int_equal (blkhash_leaves_set_sink (l, &later), EINVAL);
  assert_int_equal (blkhash_leaves_data (l, image, BLOCK, 0), 0);
  assert_int_equal (blkhash_leaves_set_sink (l, NULL), EINVAL);
  blkhash_leaves_free (l);

  l = image_table (0, 0, BLKHASH_LEAVES_ONCE);
  check_fold (l, 0, 0);
  assert_int_equal (blkhash_leaves_set_sink (l, NULL), EINVAL);
  blkhash_leaves_free (l);
}

/* ---- A sink that fails ---- */

/* The image is data, zeros, data, zeros, so the sink is called four times.
 * Call N fails.
 */
static void
fails_at (int n, unsigned once)
{
  struct blkhash_leaves *l = image_table (4 * BLOCK, 0, once);
  struct log log = { .fail_at = n, .err = ENOSPC };
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  uint64_t start, len;
  int err = 0, i;

  memset (image, 1, sizeof image);
  memset (image + BLOCK, 0, BLOCK);
  memset (image + 3 * BLOCK, 0, BLOCK);
  set_log (l, &log);
  for (i = 0; i < 4 && err == 0; i++)
    err = image_give (l, image, i * BLOCK, BLOCK, true);
  /* Here I is the number of blocks that were given.  With ONCE, data is passed
   * when it is given, after the zeros before it; only the zeros at the end are
   * passed by the fold.  Without ONCE, only the fold calls the sink.
   */
  assert_int_equal (i, !once || n == 4 ? 4 : n == 1 ? 1 : 3);
  assert_int_equal (err, !once || n == 4 ? 0 : ENOSPC);
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), ENOSPC);
  assert_int_equal (log.parts, n);
  if (once) {                   /* the error is sticky */
    assert_int_equal (blkhash_leaves_fold (l, md, NULL), ENOSPC);
    assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len),
                      ENOSPC);
    assert_int_equal (log.parts, n);
  }
  else {
    assert_int_equal (err, 0);
    check_fold (l, 4 * BLOCK, 0);
    check_log (&log, 4 * BLOCK);
  }
  blkhash_leaves_free (l);
}

static void
test_fails (void **state)
{
  int n;

  (void) state;
  for (n = 1; n <= 4; n++) {
    fails_at (n, 0);
    fails_at (n, BLKHASH_LEAVES_ONCE);
  }
}

/* Calls that give a whole block or a piece return the error of the sink. */
static void
fails_early (int err)
{
  struct blkhash_leaves *l = image_table (4 * BLOCK, 0, BLKHASH_LEAVES_ONCE);
  struct log log = { .fail_at = 1, .err = err };

  memset (image, 1, sizeof image);
  set_log (l, &log);
  blkhash_leaves_data (l, image, BLOCK, 0);
  assert_int_equal (blkhash_leaves_data (l, image, BLOCK, BLOCK), err);
  assert_int_equal (blkhash_leaves_zero (l, BLOCK, BLOCK), err);
  assert_int_equal (blkhash_leaves_data (l, image, 1, BLOCK), err);
  assert_int_equal (blkhash_leaves_zero (l, 1, 2 * BLOCK + 1), err);
  assert_int_equal (log.parts, 1);
  blkhash_leaves_free (l);
}

/* The table returns any error of the sink: a sink that writes to a pipe with
 * O_NONBLOCK can fail with EAGAIN, and some of the other values of ERRS have a
 * meaning within the table.
 */
static void
test_fails_early (void **state)
{
  static const int errs[] = { EDQUOT, EAGAIN, ENOBUFS, ENODATA, ENOENT, -1 };

  (void) state;
  alarm (300);
  for (size_t i = 0; i < sizeof errs / sizeof errs[0]; i++)
    fails_early (errs[i]);
  alarm (0);
}

/* ---- Threads ---- */

#define THREADS 4

struct giver {
  struct blkhash_leaves *l;
  const struct range *ranges;
  unsigned first, count;
  int err;
};

static void *
give_some (void *opaque)
{
  struct giver *giver = opaque;
  unsigned i;

  for (i = giver->first; i < giver->count && giver->err == 0; i += THREADS)
    giver->err = image_give (giver->l, image, giver->ranges[i].offset,
                             giver->ranges[i].len, i % 2);
  return NULL;
}

static void
test_threads_give (void **state)
{
  static struct range ranges[MAX_SIZE];
  unsigned round, i;

  (void) state;
  for (round = 0; round < 100; round++) {
    size_t size = image_random (MAX_SIZE);
    unsigned count = image_ranges (ranges, size);
    struct blkhash_leaves *l = image_table (size, 0, BLKHASH_LEAVES_ONCE);
    struct log log = { .next = 0 };
    struct giver givers[THREADS];
    pthread_t threads[THREADS];

    image_fill (image, size);
    set_log (l, &log);
    for (i = 0; i < THREADS; i++) {
      givers[i] = (struct giver) { l, ranges, i, count, 0 };
      assert_int_equal (pthread_create (&threads[i], NULL, give_some,
                                        &givers[i]), 0);
    }
    for (i = 0; i < THREADS; i++) {
      pthread_join (threads[i], NULL);
      assert_int_equal (givers[i].err, 0);
    }
    check_fold (l, size, 0);
    check_log (&log, size);
    blkhash_leaves_free (l);
  }
}

static void *
fold_some (void *opaque)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  int i;

  for (i = 0; i < 20; i++)
    if (blkhash_leaves_fold (opaque, md, NULL) != 0)
      return NULL;
  return opaque;
}

/* The folds of several threads run one after the other. */
static void
test_threads_fold (void **state)
{
  struct blkhash_leaves *l = image_table (MAX_SIZE, 0, 0);
  struct log log = { .next = 0 };
  pthread_t threads[THREADS];
  unsigned i;
  void *folded;

  (void) state;
  image_fill (image, sizeof image);
  image[0] = 1;                 /* the image begins and ends with data */
  image[MAX_SIZE - 1] = 1;
  give_all (l, sizeof image);
  set_log (l, &log);
  for (i = 0; i < THREADS; i++)
    assert_int_equal (pthread_create (&threads[i], NULL, fold_some, l), 0);
  for (i = 0; i < THREADS; i++) {
    pthread_join (threads[i], &folded);
    assert_non_null (folded);
  }
  check_log (&log, sizeof image);
  blkhash_leaves_free (l);
}

static sem_t called, given;

static int
wait_for_other (void *opaque, uint64_t index, size_t count,
                const unsigned char *leaves, size_t leaf_size)
{
  (void) opaque; (void) count; (void) leaves; (void) leaf_size;
  if (index == 0) {
    sem_post (&called);
    while (sem_wait (&given) == -1)
      ;
  }
  return 0;
}

static void *
give_first (void *opaque)
{
  return blkhash_leaves_data (opaque, image, BLOCK, 0) == 0 ? opaque : NULL;
}

/* While the sink is called, other threads can give blocks and query them. */
static void
test_without_lock (void **state)
{
  struct blkhash_leaves *l = image_table (3 * BLOCK, 0, BLKHASH_LEAVES_ONCE);
  struct blkhash_leaf_sink sink = {
    .data = wait_for_other, .zero = log_zero, .opaque = NULL
  };
  uint64_t start, len;
  pthread_t thread;
  void *done;

  (void) state;
  sem_init (&called, 0, 0);
  sem_init (&given, 0, 0);
  memset (image, 1, sizeof image);
  assert_int_equal (blkhash_leaves_set_sink (l, &sink), 0);
  alarm (300);
  assert_int_equal (pthread_create (&thread, NULL, give_first, l), 0);
  while (sem_wait (&called) == -1)
    ;
  assert_int_equal (blkhash_leaves_data (l, image, BLOCK, BLOCK), 0);
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), 0);
  assert_int_equal (start, 2 * BLOCK);
  assert_int_equal (blkhash_leaves_set_sink (l, NULL), EINVAL);
  sem_post (&given);
  pthread_join (thread, &done);
  alarm (0);
  assert_non_null (done);
  assert_int_equal (blkhash_leaves_data (l, image, BLOCK, 2 * BLOCK), 0);
  check_fold (l, 3 * BLOCK, 0);
  blkhash_leaves_free (l);
  sem_destroy (&called);
  sem_destroy (&given);
}

static void *
fold_once (void *opaque)
{
  static int err;
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  err = blkhash_leaves_fold (opaque, md, NULL);
  return &err;
}

/* A block of data is changed in one of four ways while its leaf is folded. */
static int
change_while_folding (unsigned way)
{
  struct blkhash_leaves *l = image_table (3 * BLOCK, 0, 0);
  struct blkhash_leaf_sink sink = {
    .data = wait_for_other, .zero = log_zero, .opaque = NULL
  };
  pthread_t thread;
  void *result;
  int err;

  sem_init (&called, 0, 0);
  sem_init (&given, 0, 0);
  assert_int_equal (blkhash_leaves_data (l, image, 3 * BLOCK, 0), 0);
  assert_int_equal (blkhash_leaves_set_sink (l, &sink), 0);
  alarm (300);
  assert_int_equal (pthread_create (&thread, NULL, fold_once, l), 0);
  while (sem_wait (&called) == -1)
    ;
  switch (way) {
  case 0: err = blkhash_leaves_data (l, image + BLOCK, BLOCK, 0); break;
  case 1: err = blkhash_leaves_zero (l, BLOCK, 0); break;
  case 2: err = blkhash_leaves_forget (l, BLOCK, 0); break;
  default: err = blkhash_leaves_data (l, image + BLOCK, 1, 0);
  }
  sem_post (&given);
  pthread_join (thread, &result);
  alarm (0);
  assert_int_equal (err, 0);
  blkhash_leaves_free (l);
  sem_destroy (&called);
  sem_destroy (&given);
  return *(int *) result;
}

/* No sum is computed from the leaves of two contents. */
static void
test_changed (void **state)
{
  unsigned way;

  (void) state;
  memset (image, 1, BLOCK);
  memset (image + BLOCK, 2, 2 * BLOCK);
  for (way = 0; way < 4; way++)
    assert_int_equal (change_while_folding (way), EBUSY);
}

static void
test_batch (void **state)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  uint32_t block;

  (void) state;
  for (block = 4; block <= 16 << 20; block *= 2) {
    struct blkhash_leaves *l;

    assert_int_equal (blkhash_opts_set_block_size (opts, block), 0);
    l = blkhash_leaves_new (opts, 0, 0);
    assert_non_null (l);
    assert_int_equal (blkhash_leaves_batch (l) % block, 0);
    assert_true (blkhash_leaves_batch (l) >= 16 * (size_t) block);
    assert_true (blkhash_leaves_batch (l) <= 512 << 20);
    blkhash_leaves_free (l);
  }
  blkhash_opts_free (opts);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_folded_again),
    cmocka_unit_test (test_called_early),
    cmocka_unit_test (test_given_twice),
    cmocka_unit_test (test_long_run),
    cmocka_unit_test (test_no_sum),
    cmocka_unit_test (test_when),
    cmocka_unit_test (test_fails),
    cmocka_unit_test (test_fails_early),
    cmocka_unit_test (test_threads_give),
    cmocka_unit_test (test_threads_fold),
    cmocka_unit_test (test_without_lock),
    cmocka_unit_test (test_changed),
    cmocka_unit_test (test_batch),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
