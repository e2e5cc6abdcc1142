/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: random operations on two sets of blocks, compared with the same
 * operations on two arrays.  The test prints its seed, which BLKHASH_SEED can
 * set.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "blkhash/block-set.h"

#define BLOCK_SIZE 4096         /* bytes */
#define BLOCKS 40
#define SIZE (BLOCKS * BLOCK_SIZE)
#define STEPS 100000

static struct block_set sets[2];
static bool models[2][BLOCKS];

/* Most ranges end at block boundaries; many begin where the range before them
 * ended.
 */
static void
choose_range (uint64_t *offset, uint64_t *end)
{
  static uint64_t last;
  uint64_t unit = rand () % 4 ? BLOCK_SIZE : 512;

  *offset = rand () % 2 ? last : rand () % (SIZE / unit) * unit;
  *end = *offset + (rand () % 3 + 1) * unit;
  if (*end > SIZE)
    *end = SIZE;
  last = *end % SIZE;
}

static void
add (struct block_set *set, bool *model, uint64_t offset, uint64_t end)
{
  uint64_t i;

  block_set_add (set, BLOCK_SIZE, offset, end);
  for (i = 0; i < BLOCKS && offset < end; i++)
    if ((i + 1) * BLOCK_SIZE > offset && i * BLOCK_SIZE < end)
      model[i] = true;
}

static void
remove_whole (struct block_set *set, bool *model, uint64_t offset,
              uint64_t end)
{
  uint64_t i;

  block_set_remove (set, BLOCK_SIZE, offset, end);
  for (i = 0; i < BLOCKS; i++)
    if (i * BLOCK_SIZE >= offset && (i + 1) * BLOCK_SIZE <= end)
      model[i] = false;
}

/* Add the blocks of set FROM to the other set.  If MOVE is set, clear FROM. */
static void
add_set (unsigned from, bool move)
{
  unsigned i;

  (move ? block_set_move : block_set_add_set) (&sets[!from], BLOCK_SIZE,
                                               &sets[from]);
  for (i = 0; i < BLOCKS; i++) {
    models[!from][i] |= models[from][i];
    models[from][i] &= !move;
  }
}

static void
clear (unsigned i)
{
  unsigned block;

  block_set_clear (&sets[i]);
  for (block = 0; block < BLOCKS; block++)
    models[i][block] = false;
}

static void
change (unsigned i)
{
  uint64_t offset, end;
  unsigned what = rand () % 100;

  choose_range (&offset, &end);
  if (what < 70)
    add (&sets[i], models[i], offset, end);
  else if (what < 94)
    remove_whole (&sets[i], models[i], offset, end);
  else if (what < 98)
    add_set (i, what % 2);
  else
    clear (i);
}

/* Look up a random range, run by run: the blocks of a run are all in SET, or
 * none of them is.  Adjacent runs may have the same answer.
 */
static void
check (struct block_set *set, const bool *model)
{
  uint64_t offset, end, run_end, at;

  choose_range (&offset, &end);
  for (; offset < end; offset = run_end) {
    bool in = block_set_contains (set, BLOCK_SIZE, offset, end, &run_end);

    assert_true (run_end > offset && run_end <= end);
    for (at = offset / BLOCK_SIZE; at <= (run_end - 1) / BLOCK_SIZE; at++)
      assert_true (model[at] == in);
  }
}

static void
test_random (void **state)
{
  unsigned i;

  (void) state;
  for (i = 0; i < STEPS; i++) {
    unsigned n = rand () % 2;

    if (rand () % 2)
      change (n);
    else
      check (&sets[n], models[n]);
  }
  clear (0);
  clear (1);
}

/* The last block, whose end does not fit in a uint64_t. */
static void
test_end (void **state)
{
  uint64_t last = UINT64_MAX / BLOCK_SIZE * BLOCK_SIZE, offset, run_end;

  (void) state;
  block_set_add (&sets[0], BLOCK_SIZE, UINT64_MAX - 1, UINT64_MAX);
  for (offset = 0; offset < last; offset = run_end) {
    assert_false (block_set_contains (&sets[0], BLOCK_SIZE, offset, UINT64_MAX,
                                      &run_end));
    assert_true (run_end > offset);
  }
  assert_int_equal (offset, last);
  assert_true (block_set_contains (&sets[0], BLOCK_SIZE, last, UINT64_MAX,
                                   &run_end));
  assert_int_equal (run_end, UINT64_MAX);
  block_set_clear (&sets[0]);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_end),
  };
  const char *given = getenv ("BLKHASH_SEED");
  unsigned seed = given ? strtoul (given, NULL, 0) : time (NULL);

  printf ("BLKHASH_SEED=%u\n", seed);
  srand (seed);
  return cmocka_run_group_tests (tests, NULL, NULL);
}
