/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: a copy receives all wanted bytes once, and little else is read.
 */

#include <config.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/common/numbers.h"
#include "read/reader.h"
#include "read/scan.h"
#include "read/test-disk.h"
#include "util/source-options.h"

#define ROUNDS 200

/* Blocks of BLOCK_SIZE bytes, of which some are wanted. */
struct copy {
  struct disk *disk;
  size_t block_size;
  unsigned one_of;              /* about one in ONE_OF blocks is wanted */
  pthread_mutex_t lock;         /* protects COUNT */
  unsigned char *count;         /* how often each byte was received */
};

static bool
is_wanted (const struct copy *copy, uint64_t offset)
{
  return offset / copy->block_size * 2654435761u % copy->one_of == 0;
}

static bool
wanted (void *opaque, uint64_t offset, uint64_t *len)
{
  const struct copy *copy = opaque;

  assert_true (offset < copy->disk->size);
  *len = copy->block_size - offset % copy->block_size;
  return is_wanted (copy, offset);
}

/* Check that LEN bytes, at least one, are all BYTE. */
static void
assert_same_bytes (const unsigned char *bytes, uint64_t len,
                   unsigned char byte)
{
  assert_int_equal (bytes[0], byte);
  assert_memory_equal (bytes, bytes + 1, len - 1);
}

static int
receive (void *opaque, const void *buf, uint64_t len, uint64_t offset)
{
  struct copy *copy = opaque;
  const unsigned char *bytes = buf;
  const unsigned char *wanted_bytes = copy->disk->bytes + offset;
  uint64_t i;

  assert_true (len > 0 && offset + len <= copy->disk->size);
  if (bytes)
    assert_memory_equal (bytes, wanted_bytes, len);
  else
    assert_same_bytes (wanted_bytes, len, 0);
  pthread_mutex_lock (&copy->lock);
  for (i = 0; i < len; i++)
    copy->count[offset + i]++;
  pthread_mutex_unlock (&copy->lock);
  return 0;
}

/* A unit is a BLOCK of the disk, or a block of the copy if that is larger.
 * Check that all bytes of a unit were received once if any of them is wanted,
 * and that none was received otherwise.
 */
static void
check (const struct copy *copy)
{
  uint64_t unit = MAX (copy->block_size, BLOCK), start, i;

  for (start = 0; start < copy->disk->size; start += unit) {
    uint64_t end = MIN (start + unit, copy->disk->size);
    bool any = false;

    for (i = start; i < end; i += copy->block_size)
      any |= is_wanted (copy, i);
    assert_same_bytes (copy->count + start, end - start, any);
  }
}

static void
test_copy (void **state)
{
  static struct disk disk;

  (void) state;
  for (int i = 0; i < ROUNDS; i++) {
    const struct source_options its_options = {
      .extents = rnd (2), .threads = 1 + rnd (3), .memory = SOURCE_MEMORY
    };
    struct copy copy = {
      .disk = &disk, .block_size = 512 << rnd (10), .one_of = 1 + rnd (9),
      .lock = PTHREAD_MUTEX_INITIALIZER,
    };
    struct reader_image image;
    struct scan scan;

    make_disk (&disk);
    image = reader_image_of (&disk);
    copy.count = calloc (1, disk.size + 1);
    assert_non_null (copy.count);
    scan_init_copy (&scan, copy.block_size, disk.size, receive, &copy);
    scan.request.wanted = wanted;
    scan.request.opaque = &copy;
    assert_int_equal (reader_scan (&image, &its_options, &scan), 0);
    check (&copy);
    scan_destroy (&scan);
    free (copy.count);
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
