/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: an image that is read into a table is folded, and its bytes are
 * counted.  If the source leaves a range out, there is no sum.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "blkhash.h"
#include "job/image-runs.h"
#include "job/job.h"
#include "read/scan.h"
#include "source/source.h"
#include "util/error.h"

#define BLOCK 65536
#define BLOCKS 6

static unsigned nr_read;        /* blocks that the source reads */

/* Two blocks of data and one of zeros are read; the rest is a hole. */
static int
scan_blocks (struct source *source, struct scan *scan)
{
  static unsigned char buf[3 * BLOCK];

  memset (buf, 'x', 2 * BLOCK);
  assert_int_equal (scan_add_data (scan, buf, nr_read * BLOCK, 0), 0);
  scan_count (scan, nr_read * BLOCK, false);
  assert_int_equal (scan_add_zero (scan, source->size - 3 * BLOCK, 3 * BLOCK),
                    0);
  scan_count (scan, source->size - 3 * BLOCK, true);
  return 0;
}

static const struct source_ops ops = { .scan = scan_blocks };

static int
fill (unsigned blocks, struct sum *sum, struct error *error)
{
  struct source source = {
    .ops = &ops, .format = "raw", .size = BLOCKS * BLOCK
  };
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct blkhash_leaves *leaves =
    blkhash_leaves_new (opts, BLOCKS * BLOCK, 0);
  const struct scan_request request = { .opts = opts };
  int r;

  assert_non_null (leaves);
  nr_read = blocks;
  *sum = (struct sum) { .size = 0 };
  r = image_table_fill (&source, leaves, &request, sum, error);
  blkhash_leaves_free (leaves);
  blkhash_opts_free (opts);
  return r;
}

static void
test_counts (void **state)
{
  struct error error = { "" };
  struct sum sum;

  (void) state;
  assert_int_equal (fill (3, &sum, &error), 0);
  assert_int_equal (sum.md_len, 32);
  assert_int_equal (sum.size, BLOCKS * BLOCK);
  assert_int_equal (sum.data, 2 * BLOCK);
  assert_int_equal (sum.zero, BLOCK);
  assert_int_equal (sum.hole, 3 * BLOCK);
  assert_int_equal (sum.read, 3 * BLOCK);
  assert_string_equal (sum.format, "raw");
}

static void
test_missing (void **state)
{
  struct error error = { "" };
  struct sum sum;

  (void) state;
  assert_int_equal (fill (2, &sum, &error), -1);
  assert_memory_equal (error.text, "cannot hash: ", 13);
  assert_int_equal (sum.md_len, 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_counts),
    cmocka_unit_test (test_missing),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
