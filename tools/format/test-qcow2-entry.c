/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test the decoding of L2 entries: each bit has the right meaning, and an entry
 * with an invalid bit is never regular (see qcow2.h).
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/qcow2.h"

#define COPIED (UINT64_C (1) << 63)
#define COMPRESSED (UINT64_C (1) << 62)
#define HOST UINT64_C (0x50000)
#define ALL UINT32_MAX

static const struct qcow2 standard = { .version = 3, .cluster_bits = 16 };
static const struct qcow2 version_2 = { .version = 2, .cluster_bits = 16 };
static const struct qcow2 extended = {
  .version = 3, .cluster_bits = 16, .extended_l2 = true
};
static const struct qcow2 with_data_file = {
  .version = 3, .cluster_bits = 16, .has_data_file = true
};

static struct qcow2_entry
decode (const struct qcow2 *qcow2, uint64_t descriptor, uint64_t bitmap)
{
  unsigned char bytes[16];
  struct qcow2_entry entry;

  for (int i = 0; i < 8; i++) {
    bytes[i] = descriptor >> (56 - 8 * i);
    bytes[8 + i] = bitmap >> (56 - 8 * i);
  }
  qcow2_entry_decode (qcow2, bytes, &entry);
  return entry;
}

static void
assert_regular (const struct qcow2 *qcow2, uint64_t descriptor,
                uint64_t bitmap, uint32_t allocated, uint32_t zero)
{
  struct qcow2_entry entry = decode (qcow2, descriptor, bitmap);

  assert_false (entry.compressed);
  assert_true (entry.regular);
  assert_int_equal (entry.allocated, allocated);
  assert_int_equal (entry.zero, zero);
}

static void
assert_irregular (const struct qcow2 *qcow2, uint64_t descriptor,
                  uint64_t bitmap, uint32_t allocated)
{
  struct qcow2_entry entry = decode (qcow2, descriptor, bitmap);

  assert_false (entry.compressed);
  assert_false (entry.regular);
  /* ALLOCATED is as in qemu, so all data that qemu may read is checked. */
  assert_int_equal (entry.allocated, allocated);
}

static void
test_standard (void **state)
{
  (void) state;

  assert_int_equal (decode (&standard, COPIED | HOST, 0).host, HOST);
  assert_regular (&standard, COPIED | HOST, 0, ALL, 0);
  assert_regular (&standard, HOST, 0, ALL, 0);
  assert_regular (&standard, 0, 0, 0, 0);
  assert_regular (&standard, 1, 0, 0, ALL);
  assert_regular (&standard, HOST | 1, 0, 0, ALL);
  assert_irregular (&version_2, 1, 0, 0);
  /* offset is not aligned to a cluster */
  assert_irregular (&standard, HOST + 512, 0, ALL);
  for (int bit = 1; bit < 62; bit++)
    if (bit < 9 || bit > 55)
      assert_irregular (&standard, HOST | UINT64_C (1) << bit, 0, ALL);
}

static void
test_subclusters (void **state)
{
  (void) state;

  assert_regular (&extended, HOST, UINT64_C (0xc00000003), 3, 12);
  assert_regular (&extended, HOST, 0, 0, 0);
  assert_regular (&extended, 0, UINT64_C (5) << 32, 0, 5);
  /* a subcluster is both allocated and zero */
  assert_irregular (&extended, HOST, UINT64_C (0x500000004), 4);
  assert_irregular (&extended, 0, 1, 0); /* allocated, but without an offset */
  assert_irregular (&extended, HOST | 1, ALL, ALL);
}

static void
test_data_file (void **state)
{
  (void) state;

  assert_regular (&with_data_file, COPIED, 0, ALL, 0);
  assert_regular (&with_data_file, 0, 0, 0, 0);
  assert_regular (&standard, COPIED, 0, 0, 0);
}

/* With clusters of 64 KiB the offset is in bits 0 to 53, and the number of
 * additional sectors in the bits above.
 */
static void
test_compressed (void **state)
{
  struct qcow2_entry entry = decode (&standard, COMPRESSED |
                                     UINT64_C (3) << 54 | 0x12345, 0);

  (void) state;

  assert_true (entry.compressed);
  assert_int_equal (entry.host, 0x12345);
  assert_int_equal (entry.len, 4 * 512 - 0x145);
  assert_int_equal (entry.allocated, 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_standard),
    cmocka_unit_test (test_subclusters),
    cmocka_unit_test (test_data_file),
    cmocka_unit_test (test_compressed),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
