/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: the log of the changes of a disk.  An export finds the changes of
 * others, and only those.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blkhash/disk.h"

static int a, b;                /* their addresses are those of exports */
static uint64_t found[4];       /* offset and end of each range */
static unsigned nr_found;

static void
add (void *opaque, uint64_t offset, uint64_t end)
{
  (void) opaque;
  assert_true (nr_found < 4);
  found[nr_found++] = offset;
  found[nr_found++] = end;
}

static void
catch_up (struct disk *disk, const void *by, uint64_t *seen)
{
  nr_found = 0;
  disk_catch_up (disk, by, seen, add, NULL);
}

/* Sequential changes by one export are one range; others are not. */
static void
test_ranges (void **state)
{
  struct disk disk = { .exports = 2 };
  uint64_t seen_a, seen_b;

  (void) state;
  disk_log_position (&disk, &seen_a);
  disk_log_position (&disk, &seen_b);
  disk_log_change (&disk, &a, 100, 200);
  disk_log_change (&disk, &a, 200, 300);
  catch_up (&disk, &b, &seen_b);
  assert_int_equal (nr_found, 2);
  assert_int_equal (found[0], 100);
  assert_int_equal (found[1], 300);

  disk_log_change (&disk, &a, 500, 600);
  disk_log_change (&disk, &a, 900, 1000);
  catch_up (&disk, &b, &seen_b);
  assert_int_equal (nr_found, 4);
  assert_int_equal (found[0], 500);
  assert_int_equal (found[1], 600);
  assert_int_equal (found[2], 900);
  assert_int_equal (found[3], 1000);

  catch_up (&disk, &a, &seen_a);
  assert_int_equal (nr_found, 0);
  disk_log_change (&disk, &b, 1000, 1100);
  catch_up (&disk, &a, &seen_a);
  assert_int_equal (nr_found, 2);
  assert_int_equal (found[0], 1000);
  assert_int_equal (found[1], 1100);
  disk_destroy (&disk);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_ranges),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
