/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit tests of ranges.c.  Sets of ranges are compared with a map of the image,
 * which has a flag for each byte.  Of a part: which blocks it contains, its
 * syntax, path and description.  Queries of the audit sample at any offset
 * agree with each other, the sample has at least the requested size, and each
 * unit has the same probability.
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

#include "../lib/common/util.h"
#include "util/ranges.h"

/* ---- Sets of ranges ---- */

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
test_ranges_random (void **state)
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
test_ranges_none (void **state)
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
test_ranges_end (void **state)
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
test_ranges_many (void **state)
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

/* ---- Parts ---- */

static void
test_part_parse (void **state)
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
test_part_path (void **state)
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
test_part_describe (void **state)
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
test_part_range (void **state)
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
test_part_blocks (void **state)
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

/* ---- The audit sample ---- */

#define UNIT 65536
#define PERCENT (STRATA_ALL / 100)

/* Store the class of each unit, as audit_sample_at returns it.  Returns the
 * number of audited units.
 */
static uint64_t
classify (const struct audit_sample *sample, unsigned char *classes)
{
  uint64_t offset = 0, len, audited = 0, i;

  while (offset < sample->size) {
    enum sample_class class = audit_sample_at (sample, offset, &len);

    assert_true (len > 0);
    if (len >= sample->size - offset)
      len = sample->size - offset;
    else
      assert_int_equal ((offset + len) % sample->unit, 0);
    for (i = 0; i < len; i += sample->unit)
      classes[(offset + i) / sample->unit] = class;
    if (class == SAMPLE_AUDITED) {
      assert_true (len <= sample->unit);
      audited++;
    }
    offset += len;
  }
  return audited;
}

/* A query within a unit returns the same class as one at its start. */
static void
check_offsets_in_unit (const struct audit_sample *sample,
                       const unsigned char *classes)
{
  uint64_t i, len, from_start;

  for (i = 0; i < sample->size / sample->unit; i++) {
    assert_int_equal (audit_sample_at (sample, i * sample->unit, &from_start),
                      classes[i]);
    assert_int_equal (audit_sample_at (sample, i * sample->unit + 5, &len),
                      classes[i]);
    assert_int_equal (len, from_start - 5);
  }
}

/* A selection has the units of a range that are not trusted.  Units with the
 * same answer are joined, up to 32 MiB.
 */
static void
check_selection (const struct audit_sample *sample,
                 const unsigned char *classes)
{
  const struct selection selection = {
    .start = sample->size / 4, .end = sample->size / 4 * 3, .sample = sample
  };
  uint64_t offset = 0, len, i, joined = 0;
  bool selected, before = false;

  for (; offset < sample->size; offset += len) {
    selected = selection_has (&selection, offset, &len);
    assert_true (len > 0);
    for (i = offset; i < sample->size && i - offset < len;
         i = ROUND_DOWN (i, sample->unit) + sample->unit)
      assert_int_equal (selected, i >= selection.start && i < selection.end &&
                        classes[i / sample->unit] != SAMPLE_TRUSTED);
    if (offset > selection.start && offset < selection.end)
      assert_true (selected != before || joined >= 32 * 1024 * 1024);
    before = selected;
    joined = len;
  }
}

/* The trusted units are divided into strata of equal size; only the last can be
 * smaller.  Check that one unit of each is audited, and LEAST or more in total.
 */
static void
check_strata (const struct audit_sample *sample, const unsigned char *classes,
              uint64_t least)
{
  uint64_t i, n = 0, found = 0, stratum = sample->trusted.units / least;

  for (i = 0; n < sample->trusted.units; i++) {
    if (classes[i] == SAMPLE_UNKNOWN)
      continue;
    found += classes[i] == SAMPLE_AUDITED;
    if (++n % stratum == 0 || n == sample->trusted.units)
      assert_int_equal (found, (n + stratum - 1) / stratum);
  }
  assert_true (found >= least);
}

static void
test_sample_random (void **state)
{
  static unsigned char classes[3000];
  unsigned round, i;

  (void) state;
  srand (1);
  for (round = 0; round < 300; round++) {
    struct ranges unknown = { 0 }, copy = { 0 };
    uint64_t units = 1 + rand () % 2000, size = units * UNIT, len, trusted;
    uint32_t audit = round % 4 == 0 ? 0 : rand () % (20 * PERCENT);
    struct audit_sample sample;
    uint64_t audited, least;

    size -= rand () % 2 * (rand () % UNIT);
    for (i = rand () % 30; i > 0; i--) {
      uint64_t start = rand () % size;

      len = 1 + rand () % (3 * UNIT);
      add (&unknown, start, len);
      add (&copy, start, len);
    }
    ranges_sort (&unknown);
    ranges_sort (&copy);
    ranges_align (&copy, UNIT, size);
    assert_int_equal (audit_sample_init (&sample, size, 4096, &unknown, audit,
                                         rand ()), 0);
    audited = classify (&sample, classes);
    check_offsets_in_unit (&sample, classes);
    check_selection (&sample, classes);
    for (i = 0, trusted = 0; i < units; i++) {
      assert_int_equal (classes[i] == SAMPLE_UNKNOWN,
                        has (&copy, (uint64_t) i * UNIT, &len));
      trusted += classes[i] != SAMPLE_UNKNOWN;
    }
    assert_int_equal (trusted, sample.trusted.units);
    least = (trusted * audit + STRATA_ALL - 1) / STRATA_ALL;
    if (audit > 0 && least < STRATA_MIN_UNITS)
      least = STRATA_MIN_UNITS;
    if (least > trusted)
      least = trusted;
    assert_int_equal (audited, sample.trusted.chosen);
    if (least > 0)
      check_strata (&sample, classes, least);
    else
      assert_int_equal (audited, 0);
    assert_true (audit_sample_bytes (&sample) >= ranges_bytes (&unknown));
    assert_true (audit_sample_bytes (&sample) <= size);
    audit_sample_destroy (&sample);
    ranges_free (&unknown);
    ranges_free (&copy);
  }
}

static void
test_sample_extremes (void **state)
{
  static unsigned char classes[1000];
  struct ranges unknown = { 0 };
  struct audit_sample sample;
  uint64_t len;

  (void) state;
  assert_int_equal (audit_sample_init (&sample, 1000 * UNIT, UNIT, &unknown, 0,
                                       1), 0);
  assert_int_equal (audit_sample_at (&sample, 0, &len), SAMPLE_TRUSTED);
  assert_true (len >= 1000 * UNIT);
  assert_int_equal (audit_sample_bytes (&sample), 0);
  audit_sample_destroy (&sample);
  assert_int_equal (audit_sample_init (&sample, 1000 * UNIT, UNIT, &unknown,
                                       STRATA_ALL, 1), 0);
  assert_int_equal (classify (&sample, classes), 1000);
  assert_int_equal (audit_sample_bytes (&sample), 1000 * UNIT);
  audit_sample_destroy (&sample);
  assert_int_equal (audit_sample_init (&sample, 0, UNIT, &unknown, STRATA_ALL,
                                       1), 0);
  assert_int_equal (audit_sample_at (&sample, 0, &len), SAMPLE_TRUSTED);
  assert_int_equal (audit_sample_bytes (&sample), 0);
  audit_sample_destroy (&sample);
  add (&unknown, 0, 3);
  assert_int_equal (audit_sample_init (&sample, 3, UNIT, &unknown, STRATA_ALL,
                                       1), 0);
  assert_int_equal (audit_sample_at (&sample, 0, &len), SAMPLE_UNKNOWN);
  assert_int_equal (sample.trusted.chosen, 0);
  audit_sample_destroy (&sample);
  ranges_free (&unknown);
}

/* The largest possible image.  In the first sample most of it is unknown, and
 * in the second all of it is trusted.
 */
static void
test_sample_enormous (void **state)
{
  struct ranges unknown = { 0 };
  struct audit_sample sample;
  uint64_t size = UINT64_MAX - 1, len, offset = 0, steps = 0, audited = 0;
  uint64_t least;

  (void) state;
  add (&unknown, UINT64_C (1) << 40, UINT64_MAX - 1 - (UINT64_C (1) << 41));
  assert_int_equal (audit_sample_init (&sample, size, UNIT, &unknown,
                                       PERCENT / 1000, 7), 0);
  while (offset < size) {
    audited += audit_sample_at (&sample, offset, &len) == SAMPLE_AUDITED;
    offset = len < size - offset ? offset + len : size;
    assert_true (steps++ < 100000);
  }
  assert_int_equal (audited, sample.trusted.chosen);
  least = (sample.trusted.units + 99999) / 100000;
  assert_true (sample.trusted.chosen == least ||
               sample.trusted.chosen == least + 1);
  audit_sample_destroy (&sample);
  ranges_free (&unknown);

  assert_int_equal (audit_sample_init (&sample, size, 4, &unknown, STRATA_ALL,
                                       7), 0);
  assert_int_equal (sample.trusted.chosen, UINT64_C (1) << 48);
  assert_int_equal (audit_sample_bytes (&sample), size);
  assert_int_equal (audit_sample_at (&sample, size - 1, &len), SAMPLE_AUDITED);
  audit_sample_destroy (&sample);
}

/* 100 of 1000 units are audited: each about 200 times in 2000 rounds, with a
 * standard deviation of 14.  The bounds are eight standard deviations away, and
 * the seeds are fixed.
 */
static void
test_sample_uniform (void **state)
{
  static unsigned char classes[1000];
  static unsigned times[1000];
  struct ranges unknown = { 0 };
  uint64_t round, i;

  (void) state;
  for (round = 0; round < 2000; round++) {
    uint64_t seed = round * UINT64_C (0xd1342543de82ef95);
    struct audit_sample sample;

    assert_int_equal (audit_sample_init (&sample, 1000 * UNIT, UNIT, &unknown,
                                         10 * PERCENT, seed), 0);
    assert_int_equal (classify (&sample, classes), 100);
    for (i = 0; i < 1000; i++)
      times[i] += classes[i] == SAMPLE_AUDITED;
    audit_sample_destroy (&sample);
  }
  for (i = 0; i < 1000; i++)
    assert_true (times[i] >= 200 - 8 * 14 && times[i] <= 200 + 8 * 14);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_ranges_random),
    cmocka_unit_test (test_ranges_none),
    cmocka_unit_test (test_ranges_end),
    cmocka_unit_test (test_ranges_many),
    cmocka_unit_test (test_part_parse),
    cmocka_unit_test (test_part_path),
    cmocka_unit_test (test_part_describe),
    cmocka_unit_test (test_part_range),
    cmocka_unit_test (test_part_blocks),
    cmocka_unit_test (test_sample_random),
    cmocka_unit_test (test_sample_extremes),
    cmocka_unit_test (test_sample_enormous),
    cmocka_unit_test (test_sample_uniform),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
