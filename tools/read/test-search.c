/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: a search, which is a scan without a leaf table, finds the first
 * byte at or after an offset that is not zero, and reads little after that
 * byte.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/reader.h"
#include "read/scan.h"
#include "read/test-disk.h"
#include "util/source-options.h"

#define ROUNDS 200

/* Set all bytes to 0, and then up to NUMBER bytes outside of holes to 1. */
static void
make_rare (struct disk *disk, unsigned number)
{
  memset (disk->bytes, 0, disk->size);
  while (number-- > 0) {
    uint64_t at = rnd (disk->size);

    if (!disk->hole[at / BLOCK])
      disk->bytes[at] = 1;
  }
}

/* Returns the offset of the first byte at or after FROM that is not zero. */
static uint64_t
first_data (const struct disk *disk, uint64_t from)
{
  while (from < disk->size && disk->bytes[from] == 0)
    from++;
  return from < disk->size ? from : UINT64_MAX;
}

/* Nothing before the unit of 64 KiB that contains FROM was read.  All data from
 * the start of this unit to the found byte was read once.  With one thread,
 * nothing was read that is more than 2 MiB after the found byte.
 */
static void
check_reads (const struct disk *disk, const struct scan *scan,
             unsigned threads)
{
  const uint64_t unit = 64 * 1024, range = 2 * 1024 * 1024;

  for (uint64_t n = 0; n * BLOCK < disk->size; n++) {
    if (n < scan->from / unit * (unit / BLOCK))
      assert_int_equal (disk->reads[n], 0);
    else if (n * BLOCK <= scan->to && !disk->hole[n])
      assert_int_equal (disk->reads[n], 1);
    else if (threads == 1 && scan->to < disk->size &&
             n * BLOCK > scan->to + range)
      assert_int_equal (disk->reads[n], 0);
  }
}

static void
test_search (void **state)
{
  static struct disk disk;

  (void) state;
  for (int i = 0; i < ROUNDS; i++) {
    const struct source_options its_options = {
      .extents = true, .threads = 1 + rnd (3), .memory = SOURCE_MEMORY
    };
    struct reader_image image;
    struct scan scan;
    uint64_t from;

    make_disk (&disk);
    if (disk.size == 0) {
      free (disk.bytes);
      continue;
    }
    make_rare (&disk, rnd (2) ? rnd (4) : 0);
    from = rnd (disk.size);
    image = reader_image_of (&disk);
    scan_init_search (&scan, from);
    assert_int_equal (reader_scan (&image, &its_options, &scan), 0);
    assert_int_equal (scan.to, first_data (&disk, from));
    check_reads (&disk, &scan, its_options.threads);
    scan_destroy (&scan);
    free (disk.bytes);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_search),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
