/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: which blocks a part contains, and the syntax and path of a part.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "util/part.h"

static void
test_parse (void **state)
{
  static const char *const wrong[] = {
    "", "1", "/", "2/2", "0/0", "1/2/3", " 1/2", "-1/2", "0/1000000",
    "a/b", "0/4294967297",
  };
  struct part part;
  size_t i;

  (void) state;
  assert_int_equal (part_parse (&part, "17/800"), 0);
  assert_int_equal (part.i, 17);
  assert_int_equal (part.n, 800);
  assert_int_equal (part_parse (&part, "999998/999999"), 0);
  for (i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_equal (part_parse (&part, wrong[i]), -1);
}

static void
test_path (void **state)
{
  const struct part part = { 17, 800 };
  char *path = part_path (&part, "/some/dir");

  (void) state;
  assert_string_equal (path, "/some/dir/part-000017-of-000800.blkm");
  free (path);
}

/* The parts contain all blocks in order.  Each begins at a multiple of the unit
 * or at the end.  The longest has at most one unit more than the shortest.
 */
static void
check_parts (uint64_t size, uint32_t block_size, uint32_t n)
{
  uint64_t blocks = size / block_size + (size % block_size != 0), next = 0;
  uint64_t unit = (size >> 30) >= n ? PART_UNIT / block_size : 1;
  uint64_t least = UINT64_MAX, most = 0;
  uint32_t i;

  for (i = 0; i < n; i++) {
    const struct part part = { i, n };
    uint64_t first, count, units;

    part_blocks (&part, size, block_size, &first, &count);
    assert_int_equal (first, next);
    assert_true (first % unit == 0 || first == blocks);
    next = first + count;
    units = count / unit + (count % unit != 0);
    least = units < least ? units : least;
    most = units > most ? units : most;
  }
  assert_int_equal (next, blocks);
  assert_true (most - least <= 1);
}

static void
test_blocks (void **state)
{
  static const uint64_t sizes[] = {
    0, 1, 511, 65535, 65536, 65537, 1 << 20, (1u << 30) - 1, 1u << 30,
    (1u << 30) + 1, UINT64_C (3) << 30, (UINT64_C (3) << 30) + 12345,
    UINT64_C (1) << 40, (UINT64_C (1) << 62) + 77, UINT64_MAX - 1,
  };
  static const uint32_t block_sizes[] = { 4, 65536, 1 << 24 };
  static const uint32_t numbers[] = { 1, 2, 3, 7, 800, 1024, 1025, 999999 };
  size_t i, j, k;

  (void) state;
  for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (j = 0; j < sizeof block_sizes / sizeof *block_sizes; j++)
      for (k = 0; k < sizeof numbers / sizeof *numbers; k++)
        check_parts (sizes[i], block_sizes[j], numbers[k]);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_parse),
    cmocka_unit_test (test_path),
    cmocka_unit_test (test_blocks),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
