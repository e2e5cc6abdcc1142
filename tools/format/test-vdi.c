/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test of vdi_check: complete and truncated vdi images.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/formats.h"
#include "format/test-format.h"

#define MIB (UINT64_C (1) << 20)
#define MAP 1024                /* offset in the file */
#define DATA 4096               /* offset in the file */
#define BLOCKS 20000            /* more than the entries in one read */
#define NO_DATA 0xffffffff

static unsigned char image[MAP + 4 * BLOCKS];
static uint64_t file_size;
static uint64_t disk;           /* the size that the last check returned */

static void
put (size_t offset, unsigned bytes, uint64_t value)
{
  for (unsigned i = 0; i < bytes; i++)
    image[offset + i] = value >> (8 * i);
}

static void
put_entry (unsigned block, uint32_t value)
{
  put (MAP + 4 * block, 4, value);
}

/* A disk of SIZE bytes without data. */
static void
build (uint64_t size)
{
  memset (image, 0, sizeof image);
  file_size = sizeof image;
  put (340, 4, MAP);
  put (344, 4, DATA);
  put (368, 8, size);
  put (376, 4, MIB);
  put (384, 4, (size + MIB - 1) / MIB);
  for (unsigned i = 0; i < BLOCKS; i++)
    put_entry (i, NO_DATA);
}

static void
assert_check (const char *expected)
{
  FILE *f = tmpfile ();
  struct file opened;
  struct imagefile file = test_image (&opened, f, file_size);
  struct error error = { "" };

  assert_int_equal (pwrite (fileno (f), image, sizeof image, 0), sizeof image);
  assert_int_equal (ftruncate (fileno (f), file_size), 0);
  assert_checked (vdi_check (&file, &disk, &error), &error, expected);
  fclose (f);
}

/* A file of END bytes is complete.  With one byte less a block is not. */
static void
assert_ends (uint64_t end)
{
  file_size = end;
  assert_check (NULL);
  file_size--;
  assert_check ("a block");
}

static void
test_blocks (void **state)
{
  (void) state;

  build (3 * MIB + 100);
  file_size = MAP + 16;
  assert_check (NULL);
  put_entry (0, 0);
  assert_ends (DATA + MIB);
  put_entry (2, 5);
  assert_ends (DATA + 6 * MIB);
  put_entry (2, NO_DATA);
  put_entry (3, 5);             /* the last block has 100 bytes */
  assert_ends (DATA + 5 * MIB + 100);
  assert_int_equal (disk, 3 * MIB + 100);
  put_entry (4, 1000);          /* a block after the end of the disk */
  assert_ends (DATA + 5 * MIB + 100);

  /* The largest block number, and the next value, which also means no data. */
  put_entry (3, NO_DATA - 2);
  assert_check ("a block");
  put_entry (3, NO_DATA - 1);
  assert_ends (DATA + MIB);
}

/* An image that needs a parent has its UUIDs, or a type for such images. */
static void
test_parent (void **state)
{
  static const size_t ids[] = { 424, 432, 440, 455 };

  (void) state;

  build (3 * MIB);
  put (76, 4, 2);
  assert_check (NULL);
  put (76, 4, 4);
  assert_check ("differencing vdi image");
  for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
    build (3 * MIB);
    put (ids[i], 1, 1);
    assert_check ("differencing vdi image");
  }
  build (3 * MIB);
  put (423, 1, 1);
  put (456, 1, 1);
  assert_check (NULL);
}

static void
test_many_blocks (void **state)
{
  (void) state;

  build (BLOCKS * MIB);
  assert_check (NULL);
  put_entry (BLOCKS - 1, 3);
  assert_ends (DATA + 4 * MIB);
  put_entry (BLOCKS - 1, NO_DATA);
  put_entry (16384, 3);
  assert_ends (DATA + 4 * MIB);
  put_entry (16384, NO_DATA);
  put_entry (16383, 3);
  assert_ends (DATA + 4 * MIB);
}

static void
test_header (void **state)
{
  (void) state;

  build (2 * MIB);
  file_size = 511;
  assert_check ("the vdi header");
  build (2 * MIB);
  file_size = MAP + 8;
  assert_check (NULL);
  file_size--;
  assert_check ("the block map");
  build (2 * MIB);
  put (376, 4, MIB / 2);
  assert_check ("corrupt or not supported");
  build (2 * MIB);
  put (384, 4, 1);
  assert_check ("corrupt or not supported");
  build (2 * MIB + 1);
  put (384, 4, 2);
  assert_check ("corrupt or not supported");
  put (384, 4, 3);
  assert_check (NULL);
  put (384, 4, 0x08000000);     /* a map of 512 MiB */
  assert_check ("the block map");
  put (368, 8, UINT64_MAX);
  assert_check ("corrupt or not supported");
  put (368, 8, 0x40000000 * MIB);
  put (384, 4, 0x40000000);
  assert_check ("corrupt or not supported");
  put (368, 8, 0x3fffffff * MIB);
  assert_check ("the block map");

  /* A map of 512 MiB, which is the limit, and one of four bytes more. */
  build (2 * MIB);
  file_size = 1024 * MIB;
  put (384, 4, 0x08000000);
  assert_check (NULL);
  put (384, 4, 0x08000001);
  assert_check ("refused because");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_blocks),
    cmocka_unit_test (test_parent),
    cmocka_unit_test (test_many_blocks),
    cmocka_unit_test (test_header),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
