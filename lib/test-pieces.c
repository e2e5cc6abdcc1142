/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: blocks in pieces, against an array of bytes; and their bound.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pieces.h"

#define BLOCK_SIZE 256
#define ROUNDS 20000

static unsigned seed = 1;

static bool
model_all (const bool *known, uint32_t len, uint32_t start, bool value)
{
  uint32_t i;

  for (i = start; i < start + len; i++)
    if (known[i] != value)
      return false;
  return true;
}

static void
check_ranges (const struct partial *partial, const bool *known)
{
  bool told[BLOCK_SIZE] = { false };
  size_t i;

  for (i = 0; i < partial->nr_ranges; i++) {
    const struct partial_range *range = &partial->ranges[i];

    assert_true (range->start < range->end && range->end <= BLOCK_SIZE);
    if (i > 0)
      assert_true (range->start > range[-1].end);
    memset (told + range->start, true, range->end - range->start);
  }
  assert_memory_equal (told, known, sizeof told);
}

static void
test_against_array (void **state)
{
  struct pieces_budget budget = { .bound = 1 << 20 };
  struct pieces *pieces = pieces_create (BLOCK_SIZE, &budget);
  struct partial *partial = pieces_add (pieces, 7);
  bool known[BLOCK_SIZE] = { false };
  unsigned char bytes[BLOCK_SIZE] = { 0 };
  unsigned char buf[BLOCK_SIZE];
  int i;

  (void) state;
  for (i = 0; i < ROUNDS; i++) {
    uint32_t start = rand_r (&seed) % BLOCK_SIZE;
    uint32_t len = 1 + rand_r (&seed) % (i % 2 ? 8 : BLOCK_SIZE - start);
    uint32_t j;

    if (len > BLOCK_SIZE - start)
      len = BLOCK_SIZE - start;
    switch (rand_r (&seed) % 4) {
    case 0:
      memset (buf, i, len);
      assert_int_equal (pieces_put (pieces, partial, buf, len, start), 0);
      memset (bytes + start, i, len);
      memset (known + start, true, len);
      break;
    case 1:
      assert_int_equal (pieces_put (pieces, partial, NULL, len, start), 0);
      memset (bytes + start, 0, len);
      memset (known + start, true, len);
      break;
    case 2:
      assert_int_equal (pieces_forget (pieces, partial, len, start), 0);
      memset (known + start, false, len);
      break;
    case 3:
      assert_int_equal (partial_covers (partial, len, start),
                        model_all (known, len, start, true));
      assert_int_equal (partial_overlaps (partial, len, start),
                        !model_all (known, len, start, false));
      break;
    }
    check_ranges (partial, known);
    for (j = 0; j < BLOCK_SIZE; j++)
      if (known[j])
        assert_int_equal (partial->bytes[j], bytes[j]);
  }
  pieces_free (pieces);
}

/* The oldest goes first, and what was touched is not old. */
static void
test_bound (void **state)
{
  const size_t room = PIECES_OVERHEAD + sizeof (struct partial) + BLOCK_SIZE +
    2 * sizeof (struct partial_range);
  struct pieces_budget budget = { .bound = 100 * room };
  struct pieces *pieces = pieces_create (BLOCK_SIZE, &budget);
  struct partial *first, *keep = NULL, *victim;
  uint64_t i;

  (void) state;
  first = pieces_add (pieces, 0);
  assert_int_equal (pieces_put (pieces, first, NULL, 1, 0), 0);
  for (i = 1; i < 100; i++) {
    keep = pieces_add (pieces, i << 40);
    assert_int_equal (pieces_put (pieces, keep, NULL, 1, 0), 0);
    assert_null (pieces_excess (pieces, keep));
  }
  assert_int_equal (pieces_put (pieces, first, NULL, 1, 9), 0);

  keep = pieces_add (pieces, i << 40);
  assert_int_equal (pieces_put (pieces, keep, NULL, 1, 0), 0);
  victim = pieces_excess (pieces, keep);
  assert_non_null (victim);
  assert_int_equal (victim->index, UINT64_C (1) << 40);

  /* Not one that is being hashed, and not the one that is in use. */
  victim->busy = true;
  assert_int_equal (pieces_excess (pieces, keep)->index, UINT64_C (2) << 40);
  victim->busy = false;
  pieces_remove (pieces, victim);
  partial_free (victim);
  assert_null (pieces_excess (pieces, keep));

  for (i = 2; i <= 100; i++)
    assert_int_equal (pieces_find (pieces, i << 40)->index, i << 40);
  assert_null (pieces_find (pieces, UINT64_C (1) << 40));
  pieces_free (pieces);
  assert_int_equal (budget.used, 0);
}

/* What one uses is not there for another. */
static void
test_shared_budget (void **state)
{
  struct pieces_budget budget = { .bound = 10 * BLOCK_SIZE };
  struct pieces *one = pieces_create (BLOCK_SIZE, &budget);
  struct pieces *other = pieces_create (BLOCK_SIZE, &budget);
  struct partial *keep;
  uint64_t i;

  (void) state;
  for (i = 0; i < 20; i++)
    assert_non_null (pieces_add (one, i));
  keep = pieces_add (other, 0);
  assert_null (pieces_excess (other, keep));
  assert_int_equal (pieces_excess (one, NULL)->index, 0);
  pieces_free (one);
  assert_non_null (pieces_add (other, 1));
  assert_null (pieces_excess (other, NULL));
  pieces_free (other);
  assert_int_equal (budget.used, 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_against_array),
    cmocka_unit_test (test_bound),
    cmocka_unit_test (test_shared_budget),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
