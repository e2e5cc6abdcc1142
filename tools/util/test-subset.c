/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: subsets are parsed, and their content is checked GiB by GiB.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "util/subset.h"

static void
parses (const char *text, uint32_t k, uint32_t n)
{
  struct subset subset;

  assert_int_equal (subset_parse (&subset, text), 0);
  assert_int_equal (subset.k, k);
  assert_int_equal (subset.n, n);
}

static void
test_parse (void **state)
{
  static const char *const wrong[] = {
    "", "/", "1", "1/", "/2", "2/2", "3/2", "0/0", "1/2/3", "1/2 ", " 1/2",
    "1 /2", "1/ 2", "-1/2", "+1/2", "1/-2", "0x1/2", "1.5/2", "1/2k",
    "0/4294967296", "4294967296/4294967297", "0/18446744073709551617", "a/b",
  };
  struct subset subset;
  size_t i;

  (void) state;
  parses ("0/1", 0, 1);
  parses ("6/7", 6, 7);
  parses ("008/30", 8, 30);     /* leading zeros, as in days of date +%j */
  parses ("4294967294/4294967295", UINT32_MAX - 1, UINT32_MAX);
  for (i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_equal (subset_parse (&subset, wrong[i]), -1);
}

/* Count the bytes of the subset in an image of SIZE bytes, GiB by GiB. */
static uint64_t
count_slowly (const struct subset *subset, uint64_t size)
{
  uint64_t bytes = 0, i;

  for (i = 0; i * SUBSET_UNIT < size; i++)
    if (i % subset->n == subset->k)
      bytes += size - i * SUBSET_UNIT < SUBSET_UNIT ? size - i * SUBSET_UNIT
                                                    : SUBSET_UNIT;
  return bytes;
}

static void
test_bytes (void **state)
{
  static const struct subset all = { 0, 0 };
  struct subset s;
  uint64_t units;

  (void) state;
  for (s.n = 1; s.n < 8; s.n++)
    for (s.k = 0; s.k < s.n; s.k++)
      for (units = 0; units < 20; units++) {
        uint64_t size = units * SUBSET_UNIT;

        assert_true (subset_bytes (&s, size) == count_slowly (&s, size));
        size += 70000;
        assert_true (subset_bytes (&s, size) == count_slowly (&s, size));
      }
  assert_true (subset_bytes (&all, 12345) == 12345);
  assert_true (subset_bytes (&all, UINT64_MAX - 1) == UINT64_MAX - 1);
  s = (struct subset) { 0, 1 };
  assert_true (subset_bytes (&s, UINT64_MAX - 1) == UINT64_MAX - 1);
  s = (struct subset) { UINT32_MAX - 1, UINT32_MAX };
  assert_true (subset_bytes (&s, UINT64_MAX - 1) == 4 * SUBSET_UNIT);
}

/* The result for OFFSET is the same for the next LEN bytes.  If these are not
 * in the subset, the bytes after them are.
 */
static void
walks (const struct subset *s, uint64_t offset)
{
  uint64_t unit = offset / SUBSET_UNIT, len, i;
  bool has = subset_has (s, offset, &len);

  assert_true (has == (unit % s->n == s->k));
  assert_true (len > 0);
  assert_true ((offset + len) % SUBSET_UNIT == 0);
  for (i = unit; i < (offset + len) / SUBSET_UNIT; i++)
    assert_true ((i % s->n == s->k) == has);
  if (!has)
    assert_true (i % s->n == s->k);
}

static void
test_has (void **state)
{
  static const uint64_t inside[] = { 0, 1, 65536, SUBSET_UNIT - 1 };
  static const struct subset all = { 0, 0 };
  struct subset s;
  uint64_t unit, len;
  size_t i;

  (void) state;
  for (s.n = 1; s.n < 8; s.n++)
    for (s.k = 0; s.k < s.n; s.k++)
      for (unit = 0; unit < 20; unit++)
        for (i = 0; i < sizeof inside / sizeof *inside; i++)
          walks (&s, unit * SUBSET_UNIT + inside[i]);
  assert_true (subset_has (&all, 5, &len) && len == UINT64_MAX);
  s = (struct subset) { UINT32_MAX - 1, UINT32_MAX };
  assert_false (subset_has (&s, 0, &len));
  assert_true (len == s.k * SUBSET_UNIT);
  assert_false (subset_has (&s, s.n * SUBSET_UNIT, &len));
  assert_true (len == s.k * SUBSET_UNIT);
}

static void
describes (uint32_t k, uint32_t n, uint64_t size, const char *expected)
{
  const struct subset subset = { k, n };
  char text[64];

  subset_describe (&subset, size, text, sizeof text);
  assert_string_equal (text, expected);
}

static void
test_describe (void **state)
{
  (void) state;
  describes (0, 30, 100 * SUBSET_UNIT, "4 of 100 GiB");
  describes (29, 30, 100 * SUBSET_UNIT, "3 of 100 GiB");
  describes (29, 30, 20 * SUBSET_UNIT, "0 of 20 GiB");
  describes (0, 2, SUBSET_UNIT + SUBSET_UNIT / 2, "1024 of 1536 MiB");
  describes (1, 2, SUBSET_UNIT + SUBSET_UNIT / 2, "512 of 1536 MiB");
  describes (1, 2, SUBSET_UNIT + 2048, "2 of 1048578 KiB");
  describes (1, 2, SUBSET_UNIT + 1, "1 of 1073741825 bytes");
  describes (0, 1, 0, "0 of 0 bytes");
  describes (0, 1, UINT64_MAX - 1,
             "18446744073709551614 of 18446744073709551614 bytes");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_parse),
    cmocka_unit_test (test_bytes),
    cmocka_unit_test (test_has),
    cmocka_unit_test (test_describe),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
