/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: sets of ranges, compared with a map of the image, which has a flag
 * for each byte.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "util/ranges.h"

#define SIZE 200                /* size of the image, bytes */

static void
add (struct ranges *ranges, uint64_t start, uint64_t len)
{
  assert_int_equal (ranges_add (ranges, start, len), 0);
}

/* Returns true if the byte at OFFSET is in a range, and stores in *LEN for how
 * many bytes this is so.
 */
static bool
has (const struct ranges *ranges, uint64_t offset, uint64_t *len)
{
  size_t i = ranges_find (ranges, offset);
  const struct ranges_item *range = &ranges->items[i];
  bool found = i < ranges->count && range->start <= offset;

  *len = i == ranges->count ? UINT64_MAX
    : (found ? range->start + range->len : range->start) - offset;
  return found;
}

/* The ranges are sorted, not adjacent, and equal to MAP. */
static void
check_map (const struct ranges *ranges, const bool map[SIZE])
{
  uint64_t offset, bytes = 0, len, i;
  size_t n;

  for (n = 0; n < ranges->count; n++) {
    assert_true (ranges->items[n].len > 0);
    if (n > 0)
      assert_true (ranges->items[n].start >
                   ranges->items[n - 1].start + ranges->items[n - 1].len);
  }
  for (offset = 0; offset < SIZE; offset++) {
    bytes += map[offset];
    assert_int_equal (has (ranges, offset, &len), map[offset]);
    assert_true (len > 0);
    for (i = offset; i < SIZE && i - offset < len; i++)
      assert_int_equal (map[i], map[offset]);
    if (i < SIZE)
      assert_int_equal (map[i], !map[offset]);
  }
  assert_int_equal (ranges_bytes (ranges), bytes);
}

static void
test_random (void **state)
{
  (void) state;
  srandom (1);
  for (int round = 0; round < 300; round++) {
    struct ranges ranges = { 0 };
    bool map[SIZE] = { false }, blocks[SIZE] = { false };
    uint32_t block_size = 1u << random () % 8;

    for (int i = random () % 20; i > 0; i--) {
      uint64_t start = random () % SIZE;
      uint64_t len = random () % ((SIZE - start) / (1 + random () % 16) + 1);

      add (&ranges, start, len);
      memset (map + start, true, len);
    }
    ranges_sort (&ranges);
    check_map (&ranges, map);
    for (int i = 0; i < SIZE; i++)
      for (int j = i - i % block_size; map[i] && j < SIZE &&
             j < i - i % block_size + block_size; j++)
        blocks[j] = true;
    ranges_align (&ranges, block_size, SIZE);
    check_map (&ranges, blocks);
    ranges_free (&ranges);
  }
}

static void
test_none (void **state)
{
  struct ranges ranges = { 0 };
  uint64_t len;

  (void) state;
  add (&ranges, 5, 0);
  ranges_sort (&ranges);
  ranges_align (&ranges, 4096, 100);
  assert_false (has (&ranges, 0, &len));
  assert_true (len == UINT64_MAX);
  assert_true (ranges_bytes (&ranges) == 0);
  ranges_free (&ranges);
}

/* Ranges that end near UINT64_MAX. */
static void
test_end (void **state)
{
  struct ranges ranges = { 0 };
  uint64_t len;

  (void) state;
  assert_int_equal (ranges_add (&ranges, UINT64_MAX, 1), EOVERFLOW);
  assert_int_equal (ranges_add (&ranges, 1, UINT64_MAX), EOVERFLOW);
  add (&ranges, UINT64_MAX - 10, 10);
  add (&ranges, 3, 1);
  ranges_sort (&ranges);
  assert_true (has (&ranges, UINT64_MAX - 1, &len) && len == 1);
  ranges_align (&ranges, 65536, UINT64_MAX - 3);
  assert_int_equal (ranges.count, 2);
  assert_true (ranges_bytes (&ranges) == 65536 + 65532);
  assert_true (has (&ranges, UINT64_MAX - 5, &len) && len == 2);
  /* Ranges after the end of the image are removed. */
  ranges_align (&ranges, 65536, 100);
  assert_int_equal (ranges.count, 1);
  assert_true (ranges_bytes (&ranges) == 100);
  ranges_free (&ranges);
}

/* If there are too many ranges, neighbors are joined, and no range is lost. */
static void
test_many (void **state)
{
  struct ranges ranges = { 0 };
  const uint64_t count = RANGES_MAX + 1000;
  uint64_t i, len;

  (void) state;
  for (i = 0; i < count; i++)
    add (&ranges, (count - i) * 100000, 1);
  assert_true (ranges.room == RANGES_MAX);
  ranges_sort (&ranges);
  for (i = 1; i <= count; i += 97)
    assert_true (has (&ranges, i * 100000, &len));
  assert_false (has (&ranges, 99999, &len));
  assert_false (has (&ranges, count * 100000 + 1, &len));
  ranges_free (&ranges);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_none),
    cmocka_unit_test (test_end),
    cmocka_unit_test (test_many),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
