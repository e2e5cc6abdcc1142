/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test of vpc_check: images that are complete or not, that have a parent
 * or not, and whose sizes agree or not.
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

#define SECTOR 512
#define BLOCK (64 * 1024)
#define BITMAP SECTOR           /* before the data of each block */
#define HEADER 512              /* offsets in the file */
#define TABLE 1536
#define NO_DATA 0xffffffff

static unsigned char image[256 * SECTOR];
static size_t size;
static uint64_t disk;           /* results of the last check */
static struct error warning;

static void
put (size_t offset, unsigned bytes, uint64_t value)
{
  for (unsigned i = 0; i < bytes; i++)
    image[offset + i] = value >> (8 * (bytes - 1 - i));
}

static void
put_footer (size_t offset, uint32_t type)
{
  memcpy (image + offset, "conectix", 8);
  put (offset + 16, 8, HEADER);
  memcpy (image + offset + 28, "win ", 4);
  put (offset + 48, 8, sizeof image - SECTOR);
  put (offset + 60, 4, type);
}

/* A dynamic disk of three blocks without data. */
static void
build (void)
{
  memset (image, 0, sizeof image);
  size = sizeof image;
  put_footer (0, 3);
  memcpy (image + HEADER, "cxsparse", 8);
  put (HEADER + 16, 8, TABLE);
  put (HEADER + 28, 4, 3);
  put (HEADER + 32, 4, BLOCK);
  for (unsigned i = 0; i < 4; i++)
    put (TABLE + 4 * i, 4, NO_DATA);
}

static void
assert_check (const char *expected)
{
  FILE *f = tmpfile ();
  struct file opened;
  struct imagefile file = test_image (&opened, f, size);
  struct error error = { "" };

  assert_int_equal (pwrite (fileno (f), image, size, 0), size);
  warning = (struct error) { "" };
  assert_checked (vpc_check (&file, &disk, &warning, &error), &error,
                  expected);
  fclose (f);
}

/* An image of END bytes passes.  With one byte less it fails with EXPECTED. */
static void
assert_ends (size_t end, const char *expected)
{
  size = end;
  assert_check (NULL);
  size--;
  assert_check (expected);
  size = sizeof image;
}

static void
test_blocks (void **state)
{
  (void) state;

  build ();
  assert_ends (TABLE + 12, "the block allocation table");
  put (TABLE + 4, 4, 10);
  assert_ends (10 * SECTOR + BITMAP + BLOCK, "a block");
  put (TABLE + 8, 4, 20);       /* the last block */
  assert_ends (20 * SECTOR + BITMAP + BLOCK, "a block");
  put (TABLE + 12, 4, 1000);    /* after the end of the table */
  assert_ends (20 * SECTOR + BITMAP + BLOCK, "a block");
  put (TABLE, 4, NO_DATA - 1);
  assert_check ("a block");
}

static void
test_header (void **state)
{
  (void) state;

  build ();
  size = HEADER + 35;
  assert_check ("the vpc header");
  build ();
  size = 511;                   /* enough to be detected as vpc */
  assert_check ("the vpc footer");
  build ();
  put (HEADER + 16, 8, UINT64_MAX);
  assert_check ("the block allocation table");
  put (HEADER + 16, 8, UINT64_C (1) << 56);
  assert_check ("the block allocation table");
  build ();
  put (HEADER + 28, 4, 0x08000000); /* a table of 512 MiB */
  assert_check ("the block allocation table");
  build ();
  put (16, 8, sizeof image);
  assert_check ("the vpc header");
}

/* The footer at the end has the type, too.  It can be one byte short. */
static void
test_types (void **state)
{
  const size_t last = sizeof image - SECTOR;

  (void) state;

  memset (image, 0, sizeof image);
  size = sizeof image;
  assert_check (NULL);          /* not vpc */
  put_footer (last, 2);
  assert_check (NULL);
  size--;
  assert_check (NULL);
  size++;
  put_footer (last, 3);
  assert_check ("first footer is lost");
  put_footer (last, 5);
  assert_check ("corrupt or not supported");
  put_footer (last, 4);
  assert_check ("needs its parent");
  size--;
  assert_check ("needs its parent");

  build ();
  put_footer (last, 3);
  assert_check (NULL);
  put_footer (last, 2);
  assert_check ("corrupt or not supported");
  put_footer (last, 4);
  assert_check ("needs its parent");
  build ();
  put_footer (0, 4);
  assert_check ("needs its parent");
  put_footer (0, 2);
  assert_check ("corrupt or not supported");
  size = 0;
  assert_check (NULL);
}

/* A fixed image is the disk and a footer of 512 or 511 bytes.  Two footers have
 * the same size.
 */
static void
test_sizes (void **state)
{
  const size_t last = sizeof image - SECTOR;

  (void) state;

  memset (image, 0, sizeof image);
  size = sizeof image;
  assert_check (NULL);
  assert_int_equal (disk, 0);   /* not vpc */
  put_footer (last, 2);
  assert_ends (sizeof image - 1, "the vpc footer");
  assert_int_equal (disk, 0);
  size = last + 64;
  assert_check ("the vpc footer");
  size = last + 63;             /* not detected as vpc */
  assert_check (NULL);
  size = sizeof image;
  assert_check (NULL);
  assert_int_equal (disk, last);
  put (last + 48, 8, last + SECTOR);
  assert_check ("131072 bytes, but 130560 are before the footer");
  put (last + 48, 8, last - 1);
  assert_check ("130559 bytes, but 130560");
  put (last + 48, 8, UINT64_MAX);
  assert_check ("before the footer");

  build ();
  put (48, 8, 1000);            /* not in whole sectors */
  assert_check (NULL);
  assert_int_equal (disk, 1000);
  put_footer (last, 3);
  assert_check ("a disk of 1000 bytes, and its last one of 130560");
  put (last + 48, 8, 1000);
  assert_check (NULL);
}

/* qemu uses the geometry unless it knows the creator. */
static void
test_geometry (void **state)
{
  static const char current[][5] = { "win ", "qem2", "d2v ", "tap", "CTXS" };
  static const char other[][5] = {
    "vbox", "vpc ", "vs  ", "wa", "WIN ", "tap "
  };

  (void) state;

  build ();
  for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
    memcpy (image + 28, other[i], 4);
    put (56, 4, 0);
    assert_check (NULL);
    assert_non_null (strstr (warning.text, "130560 bytes, but 0 by"));
    put (56, 4, 5 << 16 | 3 << 8 | 17); /* 255 sectors */
    assert_check (NULL);
    assert_string_equal (warning.text, "");
    put (56, 4, 1 << 16 | 16 << 8 | 16);
    assert_check (NULL);
    assert_non_null (strstr (warning.text, "130560 bytes, but 131072 by"));
    put (56, 4, 0xffff10ff);    /* the maximum, which qemu does not use */
    assert_check (NULL);
    assert_string_equal (warning.text, "");
  }
  put (56, 4, 0);
  for (size_t i = 0; i < sizeof current / sizeof current[0]; i++) {
    memcpy (image + 28, current[i], 4);
    assert_check (NULL);
    assert_string_equal (warning.text, "");
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_blocks),
    cmocka_unit_test (test_header),
    cmocka_unit_test (test_types),
    cmocka_unit_test (test_sizes),
    cmocka_unit_test (test_geometry),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
