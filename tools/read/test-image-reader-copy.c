/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: a copy receives all bytes of a block, and no others, and
 * little else is read.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/common/util.h"
#include "read/image-reader.h"
#include "read/scan.h"
#include "read/test-disk.h"
#include "util/source-options.h"

#define ROUNDS 200

static void
test_copy (void **state)
{
  static struct disk disk;

  (void) state;
  for (int i = 0; i < ROUNDS; i++) {
    const struct source_options its_options = {
      .extents = rnd (2), .threads = 1 + rnd (3), .memory = SOURCE_MEMORY
    };
    size_t block_size = 512 << rnd (10), len;
    struct image_ops image;
    unsigned char *copy;
    struct scan scan;
    uint64_t offset;

    make_disk (&disk);
    if (disk.size > 0) {
      offset = ROUND_DOWN (rnd (disk.size), block_size);
      len = MIN (block_size, disk.size - offset);
      copy = test_malloc (len);
      memset (copy, 0xa5, len);
      image = image_ops_of (&disk);
      scan_init_copy (&scan, block_size, copy, len, offset);
      assert_int_equal (image_reader_scan (&image, &its_options, &scan), 0);
      assert_memory_equal (copy, disk.bytes + offset, len);
      for (size_t b = 0; b * BLOCK < disk.size; b++)
        if ((b + 1) * BLOCK <= offset || b * BLOCK >= offset + len)
          assert_int_equal (disk.reads[b], 0);
      scan_destroy (&scan);
      test_free (copy);         /* detects an overflow */
    }
    free (disk.bytes);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_copy),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
