/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: partial blocks, compared with an array of bytes, and the bound of
 * their memory.
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

#include "leaves/pieces.h"

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
  bool covered[BLOCK_SIZE] = { false };
  size_t i;

  for (i = 0; i < partial->nr_ranges; i++) {
    const struct partial_range *range = &partial->ranges[i];

    assert_true (range->start < range->end && range->end <= BLOCK_SIZE);
    if (i > 0)
      assert_true (range->start > range[-1].end);
    memset (covered + range->start, true, range->end - range->start);
  }
  assert_memory_equal (covered, known, sizeof covered);
}

static void
test_against_array (void **state)
{
  struct pieces_budget budget = { .bound = 1 << 21 };
  struct pieces *pieces = pieces_create (BLOCK_SIZE, 0, &budget, NULL, NULL);
  uint64_t seen;
  struct partial *partial = pieces_reserve (pieces, false, &seen);
  bool known[BLOCK_SIZE] = { false };
  unsigned char bytes[BLOCK_SIZE] = { 0 };
  unsigned char buf[BLOCK_SIZE];
  int i;

  (void) state;
  pieces_add (pieces, partial, 7);
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
      assert_int_equal (partial_covers (partial, len),
                        model_all (known, len, 0, true));
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

static struct partial *
add (struct pieces *pieces, uint64_t index)
{
  uint64_t seen;
  struct partial *partial = pieces_reserve (pieces, false, &seen);

  if (partial)
    pieces_add (pieces, partial, index);
  return partial;
}

/* The block to which no piece was added for the longest time is evicted first.
 */
static void
test_bound (void **state)
{
  struct pieces_budget budget;
  struct pieces *pieces;
  struct partial *victim;
  uint64_t i, count;

  (void) state;
  budget_init (&budget, 4 << 20);
  pieces = pieces_create (BLOCK_SIZE, 100, &budget, NULL, NULL);
  assert_non_null (add (pieces, 0));
  for (count = 1; add (pieces, count << 40); count++)
    ;
  assert_int_equal (errno, ENOBUFS);
  assert_true (count > 2000 && count < (4 << 20) / BLOCK_SIZE);
  assert_true (budget.used <= budget.bound);
  assert_int_equal (pieces_put (pieces, pieces_find (pieces, 0), NULL, 1, 9),
                    0);

  assert_int_equal (share_make_room (pieces, &victim), EAGAIN);
  assert_int_equal (victim->index, UINT64_C (1) << 40);
  /* A block that is being hashed is not evicted, and its memory counts until it
   * is freed.
   */
  partial_set_busy (pieces, victim);
  pieces_remove (pieces, victim);
  assert_null (add (pieces, 1));
  partial_free (pieces, victim);
  assert_non_null (add (pieces, count << 40));
  assert_int_equal (budget.busy, 0);

  victim = pieces_find (pieces, UINT64_C (2) << 40);
  partial_set_busy (pieces, victim);
  assert_int_equal (share_make_room (pieces, &victim), EAGAIN);
  assert_int_equal (victim->index, UINT64_C (3) << 40);

  for (i = 2; i <= count; i++)
    assert_int_equal (pieces_find (pieces, i << 40)->index, i << 40);
  assert_null (pieces_find (pieces, UINT64_C (1) << 40));
  pieces_free (pieces);
  assert_int_equal (budget.used, 0);
  budget_destroy (&budget);
}

struct user {
  struct pieces *pieces;
  bool locked;
  int asked;
};

static bool
evict (void *opaque)
{
  struct user *user = opaque;
  struct partial *oldest = pieces_oldest (user->pieces);

  user->asked++;
  if (user->locked || !oldest)
    return false;
  pieces_remove (user->pieces, oldest);
  partial_free (user->pieces, oldest);
  return true;
}

/* 10 blocks of 1 MiB and their ranges fit into 11 MiB.  The user with the most
 * blocks evicts one of them; if the lock of this user is held, the user with
 * the next most blocks evicts one.
 */
static void
test_shared_budget (void **state)
{
  const uint32_t size = 1 << 20;
  struct user users[3] = { { 0 } };
  struct pieces_budget budget;
  struct partial *victim = NULL;
  uint64_t i;

  (void) state;
  budget_init (&budget, 11 * size);
  for (i = 0; i < 3; i++)
    users[i].pieces = pieces_create (size, 0, &budget, evict, &users[i]);
  for (i = 0; i < 6; i++)
    assert_non_null (add (users[0].pieces, i));
  for (i = 0; i < 4; i++)
    assert_non_null (add (users[1].pieces, i));

  assert_null (add (users[2].pieces, 0));
  assert_int_equal (share_make_room (users[2].pieces, &victim), 0);
  assert_int_equal (users[0].asked, 1);
  assert_int_equal (users[1].asked, 0);
  assert_null (pieces_find (users[0].pieces, 0));
  assert_non_null (add (users[2].pieces, 0));

  users[0].locked = true;
  assert_int_equal (share_make_room (users[2].pieces, &victim), 0);
  assert_int_equal (users[0].asked, 2);
  assert_int_equal (users[1].asked, 1);
  assert_non_null (add (users[2].pieces, 1));

  users[1].locked = true;
  assert_int_equal (share_make_room (users[2].pieces, &victim), EAGAIN);
  assert_int_equal (victim->index, 0);

  /* A freed user is not in the list. */
  pieces_free (users[0].pieces);
  pieces_free (users[1].pieces);
  assert_int_equal (share_make_room (users[2].pieces, &victim), EAGAIN);
  for (i = 2; i < 10; i++)
    assert_non_null (add (users[2].pieces, i));
  pieces_free (users[2].pieces);
  assert_int_equal (budget.used, 0);
  budget_destroy (&budget);
}

/* A user that held nothing when room was made is found again with its next
 * piece.
 */
static void
test_user_returns (void **state)
{
  const uint32_t size = 1 << 20;
  struct user users[2] = { { 0 } };
  struct pieces_budget budget;
  struct partial *victim = NULL;
  uint64_t i;

  (void) state;
  budget_init (&budget, 11 * size);
  for (i = 0; i < 2; i++)
    users[i].pieces = pieces_create (size, 0, &budget, evict, &users[i]);
  assert_non_null (add (users[0].pieces, 0));
  assert_true (evict (&users[0]));
  assert_int_equal (share_make_room (users[1].pieces, &victim), ENOBUFS);

  for (i = 0; i < 10; i++)
    assert_non_null (add (users[0].pieces, i));
  assert_null (add (users[1].pieces, 0));
  users[0].asked = 0;
  assert_int_equal (share_make_room (users[1].pieces, &victim), 0);
  assert_int_equal (users[0].asked, 1);
  for (i = 0; i < 2; i++)
    pieces_free (users[i].pieces);
  assert_int_equal (budget.used, 0);
  budget_destroy (&budget);
}

/* Memory that was used is not taken for zeros, when there is no other. */
static void
test_zeros_in_used_memory (void **state)
{
  struct pieces_budget budget;
  struct pieces *pieces;
  struct partial *partial;
  uint64_t i, seen;

  (void) state;
  budget_init (&budget, 1 << 20);
  pieces = pieces_create (BLOCK_SIZE, 100, &budget, NULL, NULL);
  for (i = 0; (partial = add (pieces, i)); i++)
    memset (partial->bytes, 'x', BLOCK_SIZE);
  partial = pieces_find (pieces, 0);
  pieces_remove (pieces, partial);
  partial_free (pieces, partial);

  partial = pieces_reserve (pieces, true, &seen);
  assert_non_null (partial);
  pieces_add (pieces, partial, 0);
  partial_zero (partial, BLOCK_SIZE);
  for (i = 0; i < BLOCK_SIZE; i++)
    assert_int_equal (partial->bytes[i], 0);
  pieces_free (pieces);
  budget_destroy (&budget);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_against_array),
    cmocka_unit_test (test_bound),
    cmocka_unit_test (test_shared_budget),
    cmocka_unit_test (test_user_returns),
    cmocka_unit_test (test_zeros_in_used_memory),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
