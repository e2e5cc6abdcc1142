/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: which blocks a part contains, and the syntax, the path and the
 * description of a part.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "util/ranges.h"

static void
test_parse (void **state)
{
  static const char *const wrong[] = {
    "", "1", "/", "1/", "/2", "2/2", "3/2", "0/0", "1/2/3", " 1/2", "1/2 ",
    "1 /2", "1/ 2", "-1/2", "+1/2", "1/-2", "0x1/2", "1.5/2", "1/2k",
    "0/1000000", "a/b", "0/4294967297", "4294967296/4294967297",
    "0/18446744073709551617",
  };
  struct part part;
  size_t i;

  (void) state;
  assert_int_equal (part_parse (&part, "17/800"), 0);
  assert_int_equal (part.i, 17);
  assert_int_equal (part.n, 800);
  assert_int_equal (part_parse (&part, "008/30"), 0); /* as of date +%j */
  assert_int_equal (part.i, 8);
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

static void
describes (uint64_t bytes, uint64_t size, const char *expected)
{
  const struct part part = { 7, 30 };
  char text[PART_TEXT_SIZE];

  part_describe (&part, bytes, size, text);
  assert_string_equal (text, expected);
}

static void
test_describe (void **state)
{
  const uint64_t gib = 1u << 30;

  (void) state;
  describes (35 * gib, 1024 * gib, "part 7/30: 35 of 1024 GiB");
  describes (0, 20 * gib, "part 7/30: 0 of 20 GiB");
  describes (gib, gib + gib / 2, "part 7/30: 1024 of 1536 MiB");
  describes (2048, gib + 2048, "part 7/30: 2 of 1048578 KiB");
  describes (1, gib + 1, "part 7/30: 1 of 1073741825 bytes");
  describes (0, 0, "part 7/30: 0 of 0 bytes");
  describes (UINT64_MAX - 1, UINT64_MAX - 1, "part 7/30: "
             "18446744073709551614 of 18446744073709551614 bytes");
}

static void
reads (uint64_t first, uint64_t count, uint64_t size, uint32_t block_size,
       uint64_t start, uint64_t end)
{
  struct selection range = selection_of_blocks (first, count, size,
                                                block_size);
  uint64_t len;

  assert_int_equal (range.start, start);
  assert_int_equal (range.end, end);
  if (start > 0) {
    assert_false (selection_has (&range, start - 1, &len));
    assert_int_equal (len, 1);
  }
  assert_int_equal (selection_has (&range, start, &len), start < end);
  assert_true (start == end || len == end - start);
  assert_false (selection_has (&range, end, &len));
  assert_int_equal (len, UINT64_MAX - end);
}

/* What is read begins and ends at a multiple of 64 KiB, or at the end. */
static void
test_range (void **state)
{
  (void) state;
  reads (1, 1, 1 << 20, 65536, 65536, 131072);
  reads (0, 1, 1 << 20, 4096, 0, 65536);
  reads (15, 2, 1 << 20, 4096, 0, 131072);
  reads (16, 16, 1 << 20, 4096, 65536, 131072);
  reads (1, 1, 70001, 65536, 65536, 70001);
  reads (16, 1, 65540, 4096, 65536, 65540);
  reads (2, 1, 40 << 20, 1 << 24, 32 << 20, 40 << 20);
  reads (3, 0, 1 << 20, 4096, 12288, 12288);
  reads (0, 0, 0, 65536, 0, 0);
  reads ((UINT64_MAX - 1) / 65536, 1, UINT64_MAX - 1, 65536,
         UINT64_MAX - 65535, UINT64_MAX - 1);
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
    cmocka_unit_test (test_describe),
    cmocka_unit_test (test_range),
    cmocka_unit_test (test_blocks),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
