/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: ranges are hashed in any order.  The memory for the leaves of the
 * first unhashed range, and of ranges after it, is bounded.  The window is open
 * if all ranges are hashed.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "read/reader-ranges.h"
#include "util/extent.h"

#define RANGES 256
#define ROUNDS 100000
#define BOUND (8 * 1024 * 1024) /* bytes of memory */

static unsigned seed = 1;

struct taken {
  struct window_item item;
  uint64_t number, leaves;      /* index of the range, and number of its
                                 * leaves */
  bool used;
};

static void
swap (struct window *window, struct taken *a, struct taken *b)
{
  window_move (window, &a->item, &b->item);
  b->number = a->number;
  b->leaves = a->leaves;
  b->used = true;
  a->used = false;
}

/* Leaves take memory from when their range is taken until this range and all
 * ranges before it are hashed.
 */
static void
test_bound (void **state)
{
  static const uint32_t block_sizes[] = { 4, 512, 65536, 16777216 };
  size_t b, i;

  (void) state;
  for (b = 0; b < 4; b++) {
    static struct taken taken[RANGES];
    static uint64_t leaves[ROUNDS]; /* number of leaves of each range */
    uint64_t number = 0, first = 0, ahead = 0;
    struct window window;
    int round;

    for (i = 0; i < RANGES; i++)
      taken[i].used = false;
    window_init (&window, block_sizes[b]);
    assert_true (window_is_open (&window));
    for (round = 0; round < ROUNDS; round++) {
      struct taken *t = &taken[rand_r (&seed) % RANGES];
      struct range range = { .zero = rand_r (&seed) % 4 == 0 };

      range.len = window_max_range (&window, 32);
      if (range.zero)
        range.len = UINT64_C (1) << 62;
      if (!t->used && window_is_open (&window)) {
        window_take (&window, &t->item, &range);
        t->used = true;
        t->number = number;
        t->leaves = range.zero ? 0 : range.len / block_sizes[b];
        leaves[number++] = t->leaves;
        ahead += t->leaves;
      }
      else if (t->used && rand_r (&seed) % 4 == 0) {
        struct taken *other = &taken[rand_r (&seed) % RANGES];

        if (!other->used)
          swap (&window, t, other);
      }
      /* The first unhashed range often has to wait longer than others. */
      else if (t->used &&
               (t->number != first || rand_r (&seed) % 4 == 0)) {
        window_done (&window, &t->item);
        t->used = false;
        for (; first < number; first++) {
          for (i = 0; i < RANGES; i++)
            if (taken[i].used && taken[i].number == first)
              break;
          if (i < RANGES)
            break;
          ahead -= leaves[first];
        }
      }
      assert_true (ahead * 64 <= BOUND); /* 64 bytes for each leaf */
      if (first == number)
        assert_true (window_is_open (&window));
    }
    assert_true (number > 2 * RANGES);
  }
}

/* The window closes, and opens again only when the first range is hashed. */
static void
test_first (void **state)
{
  struct range range = { .len = 4096 };
  struct window_item items[10000];
  struct window window;
  size_t i, n;

  (void) state;
  window_init (&window, 4);
  for (n = 0; window_is_open (&window); n++) {
    assert_true (n < 10000);
    window_take (&window, &items[n], &range);
  }
  assert_true (n > 10);
  for (i = 1; i < n; i++) {
    window_done (&window, &items[i]);
    assert_false (window_is_open (&window));
  }
  window_done (&window, &items[0]);
  assert_true (window_is_open (&window));
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_bound),
    cmocka_unit_test (test_first),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
