/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: an observation fills missing ranges, and never replaces known
 * content.  If it contradicts known content, the block becomes missing.
 */

#include <config.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "blkhash.h"
#include "leaves/leaves.h"

#define BLOCK 64
#define BLOCKS 10
#define SIZE (BLOCK * BLOCKS - 20) /* the last block is short */

static struct blkhash_leaves *
new_table (void)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct blkhash_leaves *l;

  blkhash_opts_set_block_size (opts, BLOCK);
  l = blkhash_leaves_new (opts, SIZE, 0);
  blkhash_opts_free (opts);
  assert_non_null (l);
  return l;
}

static bool
is_known (struct blkhash_leaves *l, uint64_t block)
{
  uint64_t start, len;

  return blkhash_leaves_next_missing (l, block * BLOCK, &start, &len) != 0 ||
    start >= (block + 1) * BLOCK;
}

static void
observe (struct blkhash_leaves *l, int byte, size_t len, uint64_t offset)
{
  unsigned char buf[SIZE];

  memset (buf, ~byte, sizeof buf);
  memset (buf, byte, len);
  assert_int_equal (leaves_observe_data (l, buf, len, offset), 0);
}

static void
give (struct blkhash_leaves *l, int byte, size_t len, uint64_t offset)
{
  unsigned char buf[SIZE];

  memset (buf, byte, len);
  assert_int_equal (blkhash_leaves_data (l, buf, len, offset), 0);
}

static void
test_fills_gaps (void **state)
{
  struct blkhash_leaves *l = new_table ();

  (void) state;
  observe (l, 'a', BLOCK, 0);
  assert_true (is_known (l, 0));
  observe (l, 'a', 10, BLOCK);
  assert_false (is_known (l, 1));
  observe (l, 'a', BLOCK - 5, BLOCK + 5);
  assert_true (is_known (l, 1));
  assert_int_equal (leaves_observe_zero (l, SIZE - 2 * BLOCK, 2 * BLOCK), 0);
  assert_true (is_known (l, BLOCKS - 1));
  blkhash_leaves_free (l);
}

/* A part of a piece is compared with that part, and not with what is behind. */
static void
test_part_of_piece (void **state)
{
  struct blkhash_leaves *l = new_table ();

  (void) state;
  observe (l, 'a', 40, 0);
  observe (l, 'a', 10, 20);
  observe (l, 'a', BLOCK - 40, 40);
  assert_true (is_known (l, 0));
  blkhash_leaves_free (l);
}

static void
test_known_stays (void **state)
{
  struct blkhash_leaves *l = new_table ();

  (void) state;
  give (l, 'a', BLOCK, 0);
  assert_int_equal (blkhash_leaves_zero (l, BLOCK, BLOCK), 0);
  observe (l, 'a', BLOCK, 0);
  assert_true (is_known (l, 0));
  /* Of a complete block of data only the leaf is stored, so an observation of a
   * part of the block cannot be compared.
   */
  observe (l, 'x', 7, 3);
  assert_true (is_known (l, 0));
  assert_int_equal (leaves_observe_zero (l, BLOCK, BLOCK), 0);
  observe (l, 0, 7, BLOCK + 3);
  assert_true (is_known (l, 1));
  blkhash_leaves_free (l);
}

static void
test_contradiction (void **state)
{
  struct blkhash_leaves *l = new_table ();
  uint64_t i;

  (void) state;
  for (i = 0; i < BLOCKS - 1; i++)
    give (l, i % 2 ? 'a' : 0, BLOCK, i * BLOCK);

  observe (l, 'b', BLOCK, 1 * BLOCK); /* different data */
  assert_false (is_known (l, 1));
  assert_int_equal (leaves_observe_zero (l, BLOCK, 3 * BLOCK), 0);
  assert_false (is_known (l, 3));
  observe (l, 'b', BLOCK, 4 * BLOCK); /* data where zeros were */
  assert_false (is_known (l, 4));
  observe (l, 'b', 3, 6 * BLOCK + 9); /* a piece of data where zeros were */
  assert_false (is_known (l, 6));

  assert_true (is_known (l, 0));
  assert_true (is_known (l, 2));
  assert_true (is_known (l, 5));
  assert_true (is_known (l, 7));
  blkhash_leaves_free (l);
}

/* Check that exactly the COUNT blocks from FIRST on are returned as
 * contradicted, in any order.
 */
static void
take_contradicted (struct blkhash_leaves *l, uint64_t first, uint64_t count)
{
  uint64_t offset, len, taken = 0;

  while (leaves_next_contradiction (l, &offset, &len)) {
    assert_true (offset >= first * BLOCK);
    assert_true (offset + len <= (first + count) * BLOCK);
    taken += len;
  }
  assert_int_equal (taken, (first + count == BLOCKS ? SIZE
                                                    : (first + count) * BLOCK) -
                    first * BLOCK);
}

static void
test_what_is_contradicted (void **state)
{
  struct blkhash_leaves *l = new_table ();
  uint64_t i, round;

  (void) state;
  for (i = 0; i < BLOCKS; i++)
    give (l, 'a', i < BLOCKS - 1 ? BLOCK : SIZE - i * BLOCK, i * BLOCK);
  take_contradicted (l, 0, 0);
  observe (l, 'a', 4 * BLOCK, 0);
  take_contradicted (l, 0, 0);
  observe (l, 'b', BLOCK, 1 * BLOCK);
  take_contradicted (l, 1, 1);
  observe (l, 'b', 4 * BLOCK, 0); /* fills block 1, which was missing, and
                                   * contradicts 0, 2 and 3 */
  observe (l, 'c', BLOCK, 1 * BLOCK);
  take_contradicted (l, 0, 4);
  assert_int_equal (leaves_observe_zero (l, SIZE - 5 * BLOCK, 5 * BLOCK), 0);
  take_contradicted (l, 5, BLOCKS - 5);

  /* With more ranges than can be recorded, the whole image is returned. */
  for (round = 0; round < 40; round++)
    for (i = 0; i < 3; i += 2) {
      give (l, 'a', BLOCK, i * BLOCK);
      observe (l, 'b', BLOCK, i * BLOCK);
    }
  take_contradicted (l, 0, BLOCKS);
  take_contradicted (l, 0, 0);
  blkhash_leaves_free (l);
}

/* A thread takes contradictions while others are recorded.  Each contradicted
 * block is returned.
 */
#define ROUNDS 3000

static struct {
  struct blkhash_leaves *table;
  atomic_bool done;
  bool taken[BLOCKS];
} taker;

static void *
take_until_done (void *opaque)
{
  uint64_t offset, len, end;
  bool done;

  (void) opaque;
  do {
    done = taker.done;
    while (leaves_next_contradiction (taker.table, &offset, &len))
      for (end = offset + len; offset < end; offset += BLOCK)
        taker.taken[offset / BLOCK] = true;
  } while (!done);
  return NULL;
}

static void
test_taken_by_thread (void **state)
{
  pthread_t thread;
  uint64_t i;

  (void) state;
  taker.table = new_table ();
  assert_int_equal (pthread_create (&thread, NULL, take_until_done, NULL), 0);
  for (i = 0; i < ROUNDS; i++) {
    uint64_t block = i % (BLOCKS - 1);

    give (taker.table, 'a', BLOCK, block * BLOCK);
    observe (taker.table, 'b', BLOCK, block * BLOCK);
  }
  taker.done = true;
  pthread_join (thread, NULL);
  for (i = 0; i < BLOCKS - 1; i++)
    assert_true (taker.taken[i]);
  blkhash_leaves_free (taker.table);
}

/* Observe zeros in all blocks with one call.  The result is different for each
 * block.
 */
static void
test_zeros_over_all (void **state)
{
  struct blkhash_leaves *l = new_table ();

  (void) state;
  give (l, 'a', BLOCK, 0);
  assert_int_equal (blkhash_leaves_zero (l, BLOCK, BLOCK), 0);
  give (l, 'a', 5, 2 * BLOCK);
  assert_int_equal (blkhash_leaves_zero (l, 5, 3 * BLOCK), 0);
  assert_int_equal (leaves_observe_zero (l, SIZE, 0), 0);
  assert_false (is_known (l, 0));
  assert_true (is_known (l, 1));
  assert_false (is_known (l, 2));
  assert_true (is_known (l, 3));
  assert_true (is_known (l, 4));
  assert_true (is_known (l, BLOCKS - 1));
  blkhash_leaves_free (l);
}

static void
test_pieces (void **state)
{
  struct blkhash_leaves *l = new_table ();
  uint64_t start, len;

  (void) state;
  give (l, 'a', 20, 10);
  observe (l, 'a', 15, 20); /* agrees where it overlaps */
  assert_int_equal (blkhash_leaves_next_missing (l, 10, &start, &len), 0);
  assert_int_equal (start, 35);
  observe (l, 'b', 2, 12); /* contradicts, so the whole block is missing */
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), 0);
  assert_int_equal (start, 0);
  assert_true (len >= BLOCK);

  give (l, 'a', 20, BLOCK);
  observe (l, 'a', BLOCK, BLOCK); /* the whole block agrees with its piece */
  assert_true (is_known (l, 1));
  give (l, 'a', 20, 2 * BLOCK);
  observe (l, 'b', BLOCK, 2 * BLOCK);
  assert_false (is_known (l, 2));
  blkhash_leaves_free (l);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_fills_gaps),
    cmocka_unit_test (test_part_of_piece),
    cmocka_unit_test (test_known_stays),
    cmocka_unit_test (test_contradiction),
    cmocka_unit_test (test_what_is_contradicted),
    cmocka_unit_test (test_taken_by_thread),
    cmocka_unit_test (test_zeros_over_all),
    cmocka_unit_test (test_pieces),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
