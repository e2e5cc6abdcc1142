/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: after the same random operations on a tree and on an array, both
 * have the same content.  A change for which there is no memory fails, and
 * changes nothing.
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

#include "leaves/leaf-tree.h"

#define LEAF_SIZE 5
#define BLOCKS 20000
#define ROUNDS 3000

static unsigned calls, fail_at; /* of malloc; 0: none fails */

void *__real_malloc (size_t size);
void *__wrap_malloc (size_t size);

void *
__wrap_malloc (size_t size)
{
  return ++calls == fail_at ? NULL : __real_malloc (size);
}

struct model {
  enum leaf_state state;
  unsigned char leaf[LEAF_SIZE];
};

static unsigned seed = 1;
static size_t leaf_size;        /* leaf size of the tree: LEAF_SIZE or 0 */

static uint64_t
rnd (uint64_t below)
{
  return ((uint64_t) rand_r (&seed) << 31 | rand_r (&seed)) % below;
}

/* Choose a range that is short or long.  In half of the cases it is aligned to
 * nodes of the tree.
 */
static void
random_range (uint64_t *first, uint64_t *count)
{
  static const unsigned aligns[] = { 1, 1, 64, 4096 };
  unsigned align = aligns[rnd (4)];

  *first = rnd (BLOCKS) / align * align;
  *count = 1 + rnd (rnd (2) ? 100 : BLOCKS);
  *count = (*count + align - 1) / align * align;
  if (*count > BLOCKS - *first)
    *count = BLOCKS - *first;
}

static void
change (struct leaf_tree *tree, struct model *model)
{
  static const enum leaf_state states[] = {
    LEAF_MISSING, LEAF_ZERO, LEAF_PARTIAL, LEAF_DATA
  };
  static unsigned char leaves[BLOCKS * LEAF_SIZE];
  enum leaf_state state = states[rnd (4)];
  uint64_t first, count, i;

  random_range (&first, &count);
  if (state != LEAF_DATA)
    assert_int_equal (leaf_tree_set (tree, first, count, state), 0);
  for (i = first; i < first + count; i++) {
    model[i].state = state;
    model[i].leaf[rnd (LEAF_SIZE)] = rnd (256);
    memcpy (leaves + (i - first) * leaf_size, model[i].leaf, leaf_size);
  }
  if (state == LEAF_DATA)
    assert_int_equal (leaf_tree_set_data (tree, first, count, leaves), 0);
}

static void
compare (const struct leaf_tree *tree, const struct model *model)
{
  uint64_t index = rnd (64), i;

  while (index < BLOCKS) {
    struct leaf_run run = leaf_tree_run (tree, index);

    assert_true (run.count > 0 && run.count <= BLOCKS - index);
    for (i = 0; i < run.count; i++) {
      assert_int_equal (run.state, model[index + i].state);
      if (run.state == LEAF_DATA)
        assert_memory_equal (run.leaves + i * leaf_size,
                             model[index + i].leaf, leaf_size);
    }
    index += run.count;
  }
}

static void
against_array (void)
{
  struct leaf_tree *tree = leaf_tree_create (BLOCKS, leaf_size);
  struct model *model = calloc (BLOCKS, sizeof *model);
  int i;

  assert_non_null (tree);
  assert_non_null (model);
  for (i = 0; i < ROUNDS; i++) {
    change (tree, model);
    if (i % 10 == 0)
      compare (tree, model);
  }
  compare (tree, model);
  leaf_tree_free (tree);
  free (model);
}

static void
test_against_array (void **state)
{
  (void) state;
  leaf_size = LEAF_SIZE;
  against_array ();
}

/* The leaves of the digest "null" have no bytes, but their blocks are still
 * data.
 */
static void
test_empty_leaves (void **state)
{
  (void) state;
  leaf_size = 0;
  against_array ();
}

/* Test all heights of the tree, up to the largest image with the smallest
 * blocks.
 */
static void
test_sizes (void **state)
{
  unsigned bits;

  (void) state;
  for (bits = 0; bits <= 62; bits++) {
    uint64_t blocks = UINT64_C (1) << bits;
    struct leaf_tree *tree = leaf_tree_create (blocks, LEAF_SIZE);
    struct leaf_run run;

    assert_non_null (tree);
    assert_int_equal (leaf_tree_set (tree, 0, blocks, LEAF_ZERO), 0);
    run = leaf_tree_run (tree, 0);
    assert_int_equal (run.state, LEAF_ZERO);
    assert_int_equal (leaf_tree_set_data (tree, blocks - 1, 1,
                                          (const void *) "12345"), 0);
    run = leaf_tree_run (tree, blocks - 1);
    assert_int_equal (run.state, LEAF_DATA);
    assert_int_equal (run.count, 1);
    assert_memory_equal (run.leaves, "12345", LEAF_SIZE);
    if (blocks > 1)
      assert_int_equal (leaf_tree_run (tree, blocks - 2).state, LEAF_ZERO);
    leaf_tree_free (tree);
  }
}

/* The first FIRST blocks of a tree are in STATE.  The tree grows to contain a
 * block that is far away.
 */
static void
grows_over (uint64_t first, enum leaf_state state)
{
  uint64_t blocks = UINT64_C (1) << 62, i;
  unsigned bits;

  for (bits = 0; bits < 62; bits++) {
    uint64_t far = UINT64_C (1) << bits;
    struct leaf_tree *tree = leaf_tree_create (blocks, LEAF_SIZE);
    struct leaf_run run;

    assert_non_null (tree);
    assert_int_equal (leaf_tree_run (tree, 0).count, blocks);
    if (far < first)
      far = first;
    assert_int_equal (leaf_tree_set (tree, 0, first, state), 0);
    assert_int_equal (leaf_tree_run (tree, far).state, LEAF_MISSING);
    assert_int_equal (leaf_tree_set_data (tree, far, 1,
                                          (const void *) "54321"), 0);
    for (i = 0; i < first; i += run.count) {
      run = leaf_tree_run (tree, i);
      assert_int_equal (run.state, state);
      if (state != LEAF_MISSING)
        assert_true (run.count <= first - i);
    }
    if (far > first)
      assert_int_equal (leaf_tree_run (tree, first).state, LEAF_MISSING);
    assert_memory_equal (leaf_tree_run (tree, far).leaves, "54321", LEAF_SIZE);
    assert_int_equal (leaf_tree_run (tree, far + 1).state, LEAF_MISSING);

    /* The size becomes known, and FAR is the last block. */
    leaf_tree_set_blocks (tree, far + 1);
    run = leaf_tree_run (tree, far);
    assert_int_equal (run.state, LEAF_DATA);
    assert_int_equal (run.count, 1);
    leaf_tree_free (tree);
  }
}

static void
test_grows (void **state)
{
  static const uint64_t firsts[] = { 1, 63, 64, 65, 4096, 4097, 262144 };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
    grows_over (firsts[i], LEAF_MISSING);
    grows_over (firsts[i], LEAF_ZERO);
    grows_over (firsts[i], LEAF_PARTIAL);
  }
}

/* Set a block in a tree with several levels, some of which exist if USED is
 * near.  The allocation with this NUMBER fails.  Returns the error.
 */
static int
set_without_memory (uint64_t used, bool data, unsigned number)
{
  struct leaf_tree *tree = leaf_tree_create (UINT64_C (1) << 30, LEAF_SIZE);
  const uint64_t index = 123456789;
  enum leaf_state wanted = data ? LEAF_DATA : LEAF_ZERO;
  int err;

  assert_non_null (tree);
  assert_int_equal (leaf_tree_set (tree, used, 1, LEAF_ZERO), 0);
  calls = 0;
  fail_at = number;
  err = data ? leaf_tree_set_data (tree, index, 1, (const void *) "54321")
             : leaf_tree_set (tree, index, 1, LEAF_ZERO);
  fail_at = 0;
  assert_int_equal (leaf_tree_run (tree, index).state,
                    err ? LEAF_MISSING : wanted);
  assert_int_equal (leaf_tree_run (tree, used).state, LEAF_ZERO);
  leaf_tree_free (tree);
  return err;
}

static void
test_no_memory (void **state)
{
  static const uint64_t used[] = { 0, (1 << 30) - 1, 123456789 - 100 };

  (void) state;
  for (size_t i = 0; i < 3; i++)
    for (int data = 0; data <= 1; data++) {
      unsigned number = 1;

      while (set_without_memory (used[i], data, number) == ENOMEM)
        number++;
      assert_int_equal (set_without_memory (used[i], data, number), 0);
      assert_true (number >= 2);
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_against_array),
    cmocka_unit_test (test_empty_leaves),
    cmocka_unit_test (test_sizes),
    cmocka_unit_test (test_grows),
    cmocka_unit_test (test_no_memory),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
