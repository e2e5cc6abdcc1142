/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: queries of the audit sample at any offset agree with each other,
 * the sample has at least the requested size, and each unit has the same
 * probability.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "util/ranges.h"
#include "util/ranges.h"

#define UNIT 65536
#define PERCENT (STRATA_ALL / 100)

static void
add (struct ranges *ranges, uint64_t start, uint64_t len)
{
  assert_int_equal (ranges_add (ranges, start, len), 0);
}

static bool
is_in (const struct ranges *ranges, uint64_t offset)
{
  size_t i = ranges_find (ranges, offset);

  return i < ranges->count && ranges->items[i].start <= offset;
}

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
    for (i = offset; i < sample->size && i - offset < len; i++)
      if (i % sample->unit == 0 || i == offset || i == offset + len - 1)
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
test_random (void **state)
{
  static unsigned char classes[3000];
  unsigned round, i;

  (void) state;
  srand (1);
  for (round = 0; round < 300; round++) {
    struct ranges unknown = { 0 }, copy = { 0 };
    uint64_t units = 1 + rand () % 2000, size = units * UNIT, trusted;
    uint32_t audit = round % 4 == 0 ? 0 : rand () % (20 * PERCENT);
    struct audit_sample sample;
    uint64_t audited, least;

    size -= rand () % 2 * (rand () % UNIT);
    for (i = rand () % 30; i > 0; i--) {
      uint64_t start = rand () % size, len = 1 + rand () % (3 * UNIT);

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
                        is_in (&copy, (uint64_t) i * UNIT));
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
test_extremes (void **state)
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
test_enormous (void **state)
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
test_uniform (void **state)
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
    cmocka_unit_test (test_random),
    cmocka_unit_test (test_extremes),
    cmocka_unit_test (test_enormous),
    cmocka_unit_test (test_uniform),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
