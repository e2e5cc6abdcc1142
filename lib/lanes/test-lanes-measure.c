/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the measured costs of kernels (multi-buffer implementations).  The
 * clock is simulated, and the kernels of this test only advance it, so the test
 * does not depend on the speed of the machine.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "common/test-time64.h"
#include "lanes/lanes.h"

int __wrap_clock_gettime (clockid_t clock, struct timespec *t)
  WRAPS_TIME64 (clock_gettime);

enum { X4, X32, X16, NR_KERNELS, SINGLE = NR_KERNELS };

#define BLOCK 64

static uint64_t now;            /* nanoseconds */

/* The behaviour of each kernel, and of the caller's hash, SINGLE. */
static struct behaviour {
  uint64_t ns;                  /* time of one message block in each lane */
  unsigned (*factor) (unsigned call); /* slowdown in this call; NULL: 1 */
  int error;                    /* the errno value that SINGLE returns, or 0 */
  unsigned calls, probes;
  size_t blocks;                /* message blocks in all calls */
} behaviour[NR_KERNELS + 1];

int
__wrap_clock_gettime (clockid_t clock, struct timespec *t)
{
  assert_int_equal (clock, CLOCK_MONOTONIC);
  t->tv_sec = now / 1000000000;
  t->tv_nsec = now % 1000000000;
  return 0;
}

static void
work (unsigned kernel, size_t blocks)
{
  struct behaviour *b = &behaviour[kernel];

  now += b->ns * blocks * (b->factor ? b->factor (b->calls) : 1);
  b->calls++;
  b->blocks += blocks;
}

static void
compress (unsigned kernel, unsigned lanes, void *state,
          const unsigned char *const *data, size_t blocks)
{
  assert_int_equal ((uintptr_t) state % 64, 0);
  for (unsigned i = 0; i < lanes; i++)
    /* Read all bytes, to detect invalid addresses. */
    for (size_t j = 0; j < blocks * BLOCK; j++)
      (void) *(const volatile unsigned char *) &data[i][j];
  if (blocks < 32)
    behaviour[kernel].probes++;
  else
    assert_true (blocks * BLOCK * lanes == 32768 ||
                 (blocks == 32 && blocks * BLOCK * lanes > 32768));
  work (kernel, blocks);
}

#define KERNEL(LANES)                                                   \
  static void                                                           \
  compress_x##LANES (void *state, const unsigned char *const *data,     \
                     size_t blocks)                                     \
  {                                                                     \
    compress (X##LANES, LANES, state, data, blocks);                    \
  }                                                                     \
                                                                        \
  static const struct lane_kernel x##LANES = {                          \
    .name = "x" #LANES, .lanes = LANES, .compress = compress_x##LANES   \
  }

KERNEL (4);
KERNEL (32);
KERNEL (16);

static const struct lane_kernel *const kernels[] = { &x4, &x32, &x16, NULL };
static const struct lane_hash hash = {
  .name = "hash", .block = BLOCK, .word = 4, .words = 8, .kernels = kernels
};

static int
update (void *opaque, const void *data, size_t len)
{
  static unsigned char copy[64 * 1024];

  assert_ptr_equal (opaque, &now);
  assert_true (len == 2 * BLOCK ||
               (len >= 8192 && len <= sizeof copy && len % BLOCK == 0));
  memcpy (copy, data, len);
  work (SINGLE, len / BLOCK);
  return behaviour[SINGLE].error;
}

#define ALL 7                   /* mask of all kernels */

static struct lane_costs costs;

static int
measure (unsigned usable)
{
  struct single_hash single = { .update = update, .opaque = &now };

  memset (&costs, 0xa5, sizeof costs);
  for (size_t i = 0; i <= NR_KERNELS; i++)
    behaviour[i].calls = behaviour[i].probes = behaviour[i].blocks = 0;
  return lane_costs_measure (&hash, usable, &single, &costs);
}

static int
set_up (void **state)
{
  (void) state;
  memset (behaviour, 0, sizeof behaviour);
  behaviour[X4].ns = 127;
  behaviour[X32].ns = 900;
  behaviour[X16].ns = 700;
  behaviour[SINGLE].ns = 100;
  return 0;
}

static void
check_exact (void)
{
  assert_int_equal (measure (ALL), 0);
  assert_int_equal (costs.single, 100000);
  assert_int_equal (costs.call[X4], 127000);
  assert_int_equal (costs.call[X32], 900000);
  assert_int_equal (costs.call[X16], 700000);
  assert_int_equal (costs.call[NR_KERNELS], 0);
}

static void
test_exact (void **state)
{
  (void) state;
  check_exact ();
  for (size_t i = 0; i < NR_KERNELS; i++) {
    assert_int_equal (behaviour[i].probes, 1 + 5);
    assert_int_equal (behaviour[i].calls, 1 + 2 * 5);
  }
  assert_int_equal (behaviour[SINGLE].calls, 2 + 2 * 5);
}

static unsigned
first_slow (unsigned call)
{
  return call == 0 ? 1000 : 1;
}

/* Every third call is slow.  So at most two of five consecutive calls are slow,
 * and at most two of five calls if every other call is left out.
 */
static unsigned
often_slow (unsigned call)
{
  return call % 3 == 1 ? 5 + call : 1;
}

/* Calls are slow because of preemption, or because the CPU is not at full speed
 * yet.  First only one candidate is slow, each in turn, and then all kernels.
 */
static void
test_noisy (void **state)
{
  static unsigned (*const factors[]) (unsigned) = { first_slow, often_slow };

  (void) state;
  for (size_t f = 0; f < sizeof factors / sizeof factors[0]; f++) {
    for (size_t i = 0; i <= NR_KERNELS; i++) {
      behaviour[i].factor = factors[f];
      check_exact ();
      behaviour[i].factor = NULL;
    }
    for (size_t i = 0; i < NR_KERNELS; i++)
      behaviour[i].factor = factors[f];
    check_exact ();
  }
}

/* All candidates become slower with each round, by the same factor, so it does
 * not matter in which order they are measured.  In the five rounds the factor
 * is 3, 5, 7, 9 and 11, so the median is 7.
 */
static unsigned
slower_in_rounds (unsigned call)
{
  return 1 + call;
}

static unsigned
single_slower_in_rounds (unsigned call)
{
  return call == 0 ? 1 : call;  /* before the rounds SINGLE is called twice, and
                                 * a kernel once */
}

static void
test_drift (void **state)
{
  (void) state;
  for (size_t i = 0; i < NR_KERNELS; i++)
    behaviour[i].factor = slower_in_rounds;
  behaviour[SINGLE].factor = single_slower_in_rounds;
  assert_int_equal (measure (ALL), 0);
  assert_int_equal (costs.single, 7 * 100000);
  assert_int_equal (costs.call[X4], 7 * 127000);
  assert_int_equal (costs.call[X32], 7 * 900000);
  assert_int_equal (costs.call[X16], 7 * 700000);
}

/* A kernel that is 100 times slower than the caller's hash is excluded after
 * little work.  A kernel that is 19 times slower is measured like any other.
 */
static void
test_too_slow (void **state)
{
  (void) state;
  behaviour[X4].ns = 4 * 100 * 100;
  behaviour[X16].ns = 16 * 100 * 19;
  assert_int_equal (measure (ALL), 0);
  assert_int_equal (costs.call[X4], 0);
  assert_int_equal (behaviour[X4].calls, 2);
  assert_int_equal (behaviour[X4].blocks, 4);
  assert_int_equal (costs.call[X16], 16 * 100 * 19 * 1000);
  assert_int_equal (costs.call[X32], 900000);
  assert_int_equal (costs.single, 100000);
}

/* A kernel that has not run for a while is slow at first.  This does not affect
 * its measured cost.
 */
static unsigned
every_other_slow (unsigned call)
{
  return call % 2 == 1 ? 3 : 1;
}

static unsigned
single_every_other_slow (unsigned call)
{
  return call % 2 == 0 ? 3 : 1;
}

static void
test_cold (void **state)
{
  (void) state;
  for (size_t i = 0; i < NR_KERNELS; i++)
    behaviour[i].factor = every_other_slow;
  behaviour[SINGLE].factor = single_every_other_slow;
  check_exact ();
}

static void
test_unusable (void **state)
{
  (void) state;
  for (unsigned usable = 0; usable <= ALL; usable++) {
    assert_int_equal (measure (usable), 0);
    assert_int_equal (costs.single, 100000);
    for (size_t i = 0; i < NR_KERNELS; i++) {
      assert_int_equal (costs.call[i] > 0, (usable & 1u << i) > 0);
      assert_int_equal (behaviour[i].calls > 0, (usable & 1u << i) > 0);
    }
  }
}

static void
test_error (void **state)
{
  (void) state;
  behaviour[SINGLE].error = EIO;
  assert_int_equal (measure (ALL), EIO);
  assert_int_equal (behaviour[SINGLE].calls, 1);
}

/* If the clock stands still, all times are 0.  The costs must not be 0, because
 * a cost of 0 means that the kernel is not used.
 */
static void
test_clock_stands (void **state)
{
  (void) state;
  memset (behaviour, 0, sizeof behaviour);
  assert_int_equal (measure (ALL), 0);
  assert_true (costs.single > 0);
  for (size_t i = 0; i < NR_KERNELS; i++)
    assert_true (costs.call[i] > 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup (test_exact, set_up),
    cmocka_unit_test_setup (test_noisy, set_up),
    cmocka_unit_test_setup (test_drift, set_up),
    cmocka_unit_test_setup (test_too_slow, set_up),
    cmocka_unit_test_setup (test_cold, set_up),
    cmocka_unit_test_setup (test_unusable, set_up),
    cmocka_unit_test_setup (test_error, set_up),
    cmocka_unit_test_setup (test_clock_stands, set_up),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
