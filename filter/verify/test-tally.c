/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: the state of each block in the verify filter, compared with an
 * array.  The test prints its seed, which BLKHASH_SEED can set.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "../lib/common/util.h"
#include "verify/tally.h"

#define MAX_BLOCKS 400000       /* more than 12 pages */
#define PAGE_BLOCKS UINT64_C (32768) /* blocks of a page, as in tally.c */
#define ROUNDS 15

static unsigned seed;
static struct tally tally;
static const struct tally_read alone; /* no other read is in flight */
static unsigned char model[MAX_BLOCKS];
static uint64_t blocks;

static uint64_t
any (uint64_t limit)            /* less than LIMIT */
{
  return rand_r (&seed) % limit;
}

/* A random length, often up to the end of a page. */
static uint64_t
any_length (uint64_t first)
{
  uint64_t page_end = ROUND_DOWN (first, PAGE_BLOCKS) + PAGE_BLOCKS;
  uint64_t length = 1 + any (any (2) ? 10 : any (2) ? 70000 : MAX_BLOCKS);

  if (any (4) == 0)
    length = page_end - first;
  return MIN (length, blocks - first);
}

/* Set runs of zeros in order, as from a manifest.  Blocks that have a state
 * keep it.
 */
static void
set_zeros (void)
{
  uint64_t first = 0, count, i;

  for (; first < blocks; first += count) {
    count = any_length (first);
    if (any (2))
      continue;
    assert_int_equal (tally_set_zeros (&tally, first, count), 0);
    for (i = first; i < first + count; i++)
      if (model[i] == BLOCK_MISSING)
        model[i] = BLOCK_OK;
  }
}

static bool
is_bad (enum block_state state)
{
  return state == BLOCK_DIFFERS || state == BLOCK_REPAIRED;
}

/* Set a run of blocks to one state.  A few of those that were good and are bad
 * now, or the other way round, reset the others.
 */
static void
read_blocks (void)
{
  uint64_t block = any (blocks), end = block + any_length (block);
  enum block_state state = BLOCK_OK + any (BLOCK_STATES - BLOCK_OK);

  for (; block < end; block++) {
    uint64_t changes = tally_get_changes (&tally);
    enum block_state old = model[block];
    bool contradicts = (old == BLOCK_OK && is_bad (state)) ||
      (is_bad (old) && state == BLOCK_OK), reset = !contradicts;

    if (contradicts && any (10000) > 0)
      continue;
    assert_int_equal (tally_set (&tally, &alone, block, state, &reset), old);
    assert_int_equal (reset, contradicts);
    assert_int_equal (tally_get_changes (&tally) != changes, state != old);
    if (reset)
      memset (model, BLOCK_MISSING, blocks);
    model[block] = state;
  }
}

static void
check (void)
{
  uint64_t counts[BLOCK_STATES] = { 0 }, block = 0, n, i;
  struct tally_counts read;

  while (block < blocks) {
    enum block_state state;

    n = tally_get_run (&tally, block, &state);
    assert_in_range (n, 1, blocks - block);
    for (i = block; i < block + n; i++)
      assert_int_equal (model[i], state);
    block += n;
    assert_true (block == blocks || model[block] != state);
    counts[state] += n;
  }
  tally_get_counts (&tally, &read);
  assert_memory_equal (read.blocks, counts, sizeof counts);
  if (blocks > 0)
    assert_int_equal (read.last, model[blocks - 1]);
}

static void
add_transient (void)
{
  uint64_t changes = tally_get_changes (&tally), transient = tally.transient;
  struct tally_counts read;

  tally_add_transient (&tally);
  tally_get_counts (&tally, &read);
  assert_int_equal (read.transient, transient + 1);
  assert_int_equal (tally_get_changes (&tally), changes + 1);
}

/* Move the states and counts to another tally, which had other states, and
 * back.
 */
static void
move_tally (void)
{
  uint64_t changes = tally_get_changes (&tally), transient = tally.transient;
  struct tally other;
  bool reset;

  assert_int_equal (tally_init (&other, blocks), 0);
  tally_set (&other, &alone, 0, BLOCK_DIFFERS, &reset);
  tally_move (&other, &tally);
  tally_destroy (&tally);
  assert_int_equal (tally_init (&tally, blocks), 0);
  tally_set (&tally, &alone, blocks - 1, BLOCK_DIFFERS, &reset);
  tally_move (&tally, &other);
  tally_destroy (&other);
  assert_int_equal (tally_get_changes (&tally), changes);
  assert_int_equal (tally.transient, transient);
}

static void
reset_tally (void)
{
  uint64_t changes = tally_get_changes (&tally);

  tally_reset (&tally);
  memset (model, BLOCK_MISSING, blocks);
  check ();
  assert_int_equal (tally.transient, 0);
  assert_int_equal (tally_get_changes (&tally), changes + 1);
  tally_reset (&tally);         /* nothing changes */
  assert_int_equal (tally_get_changes (&tally), changes + 1);
}

static void
test_random (void **state)
{
  unsigned i, k;

  (void) state;
  for (i = 0; i < ROUNDS; i++) {
    blocks = 1 + any (any (2) ? 1000 : MAX_BLOCKS);
    memset (model, BLOCK_MISSING, sizeof model);
    assert_int_equal (tally_init (&tally, blocks), 0);
    if (any (2))
      set_zeros ();
    check ();
    for (k = 0; k < 10; k++)
      read_blocks ();
    set_zeros ();
    check ();
    add_transient ();
    move_tally ();
    check ();
    reset_tally ();
    check ();
    read_blocks ();
    check ();
    tally_destroy (&tally);
  }
}

/* The states of a disk of 2^34 blocks, all zero, take no memory but that of
 * pointers to one shared page.
 */
static void
test_huge (void **state)
{
  enum block_state first = 0;

  (void) state;
  blocks = UINT64_C (1) << 34;
  assert_int_equal (tally_init (&tally, blocks), 0);
  assert_int_equal (tally_set_zeros (&tally, 0, blocks), 0);
  assert_int_equal (tally_get_run (&tally, 0, &first), blocks);
  assert_int_equal (first, BLOCK_OK);
  assert_ptr_equal (tally.pages[0], tally.pages[1]);
  tally_destroy (&tally);
}

static void
assert_run (struct tally *t, uint64_t first, uint64_t count,
            enum block_state state)
{
  enum block_state found;

  assert_int_equal (tally_get_run (t, first, &found), count);
  assert_int_equal (found, state);
}

/* Disks share the page of blocks that are all zero, until a state in it is set.
 */
static void
test_shared_zeros (void **state)
{
  const uint64_t bad = PAGE_BLOCKS + 5;
  struct tally other;
  bool reset;

  (void) state;
  blocks = 3 * PAGE_BLOCKS;
  assert_int_equal (tally_init (&tally, blocks), 0);
  assert_int_equal (tally_init (&other, blocks), 0);
  assert_int_equal (tally_set_zeros (&tally, 0, blocks), 0);
  assert_int_equal (tally_set_zeros (&other, 0, blocks), 0);
  assert_ptr_equal (tally.pages[1], other.pages[1]);

  assert_int_equal (tally_set (&tally, &alone, bad, BLOCK_UNREADABLE, &reset),
                    BLOCK_OK);
  assert_run (&tally, 0, bad, BLOCK_OK);
  assert_run (&tally, bad, 1, BLOCK_UNREADABLE);
  assert_run (&tally, bad + 1, blocks - bad - 1, BLOCK_OK);
  assert_int_equal (tally.counts[BLOCK_UNREADABLE], 1);
  assert_int_equal (tally.counts[BLOCK_OK], blocks - 1);

  assert_run (&other, 0, blocks, BLOCK_OK);
  assert_run (&other, bad, blocks - bad, BLOCK_OK);
  assert_ptr_equal (tally.pages[0], other.pages[0]);
  tally_destroy (&tally);
  tally_destroy (&other);
}

static enum block_state
set (const struct tally_read *read, uint64_t block, enum block_state state)
{
  bool reset;

  return tally_set (&tally, read, block, state, &reset);
}

/* A block does not become good by a read that is older than the one that found
 * it bad or unreadable, or that reset the states.  It does by a later one, and
 * a read is not older than itself.
 */
static void
test_overlap (void **state)
{
  struct tally_read old, new;

  (void) state;
  blocks = 10;
  assert_int_equal (tally_init (&tally, blocks), 0);
  tally_begin_read (&tally, &old, 0, 5);
  tally_begin_read (&tally, &new, 3, 5);
  set (&new, 3, BLOCK_DIFFERS);
  set (&new, 4, BLOCK_UNREADABLE);
  set (&new, 5, BLOCK_DIFFERS);
  set (&old, 2, BLOCK_OK);
  assert_int_equal (set (&old, 3, BLOCK_OK), BLOCK_DIFFERS);
  assert_int_equal (set (&old, 4, BLOCK_OK), BLOCK_UNREADABLE);
  assert_run (&tally, 2, 1, BLOCK_OK);
  assert_run (&tally, 3, 1, BLOCK_DIFFERS);
  assert_run (&tally, 4, 1, BLOCK_UNREADABLE);
  set (&new, 6, BLOCK_OK);
  set (&new, 5, BLOCK_OK);    /* resets the others */
  set (&new, 7, BLOCK_OK);
  set (&old, 1, BLOCK_OK);
  assert_run (&tally, 0, 5, BLOCK_MISSING);
  assert_run (&tally, 5, 1, BLOCK_OK);
  assert_run (&tally, 6, 1, BLOCK_MISSING);
  assert_run (&tally, 7, 1, BLOCK_OK);
  set (&old, 1, BLOCK_DIFFERS);
  assert_run (&tally, 1, 1, BLOCK_DIFFERS);
  tally_end_read (&tally, &old);
  tally_begin_read (&tally, &old, 0, 5);
  tally_end_read (&tally, &new);
  set (&old, 3, BLOCK_OK);
  assert_run (&tally, 3, 1, BLOCK_OK);
  tally_reset (&tally);
  set (&old, 3, BLOCK_OK);
  assert_run (&tally, 0, 10, BLOCK_MISSING);
  tally_end_read (&tally, &old);
  assert_null (tally.reads);
  tally_destroy (&tally);
}

static void
test_empty (void **state)
{
  (void) state;
  blocks = 0;
  assert_int_equal (tally_init (&tally, 0), 0);
  assert_int_equal (tally_set_zeros (&tally, 0, 0), 0);
  check ();
  tally_destroy (&tally);
}

int
main (void)
{
  const char *given = getenv ("BLKHASH_SEED");
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_huge),
    cmocka_unit_test (test_shared_zeros),
    cmocka_unit_test (test_overlap),
    cmocka_unit_test (test_empty),
  };

  seed = given ? strtoul (given, NULL, 10) : (unsigned) time (NULL);
  printf ("BLKHASH_SEED=%u\n", seed);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
