/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit tests of minor-formats.c and map-check.c: images that have just enough
 * bytes, images that have one byte less, and tables with values that no program
 * writes.
 */

#include <config.h>

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/map-check.h"
#include "format/minor-formats.h"
#include "format/test-image.h"

static unsigned char image[256 * 1024];
static size_t size;
static const char *format;
static uint64_t disk;           /* the size that the last check returned */

static void
start (const char *name, const char *magic)
{
  memset (image, 0, sizeof image);
  size = sizeof image;
  format = name;
  memcpy (image, magic, strlen (magic));
}

static void
put_le (size_t offset, unsigned bytes, uint64_t value)
{
  for (unsigned i = 0; i < bytes; i++)
    image[offset + i] = value >> (8 * i);
}

static void
put_be (size_t offset, unsigned bytes, uint64_t value)
{
  for (unsigned i = 0; i < bytes; i++)
    image[offset + i] = value >> (8 * (bytes - 1 - i));
}

/* The check of SIZE bytes of IMAGE fails with EXPECTED, or succeeds if EXPECTED
 * is NULL.
 */
static void
assert_check (const char *expected)
{
  FILE *f = tmpfile ();
  struct file opened;
  struct imagefile file = test_image (&opened, f, size);
  struct error error = { "" };

  disk = 0;
  assert_int_equal (pwrite (fileno (f), image, size, 0), size);
  assert_checked (minor_formats_check (&file, format, &disk, &error), &error,
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

/* Three extents of 4096 bytes.  The disk ends after 512 bytes of the third. */
static void
test_bochs (void **state)
{
  (void) state;

  start ("bochs", "Bochs Virtual HD Image");
  put_le (64, 4, 0x20000);
  put_le (68, 4, 512);
  put_le (72, 4, 3);
  put_le (76, 4, 10);
  put_le (80, 4, 4096);
  put_le (88, 8, 2 * 4096 + 512);
  put_le (512, 4, UINT32_MAX);
  put_le (516, 4, UINT32_MAX);
  put_le (520, 4, UINT32_MAX);
  assert_ends (524, "the catalog");
  put_le (520, 4, 2);
  assert_ends (524 + 3 * 4608, "a cluster at offset 9740 (4608 bytes)");
  assert_int_equal (disk, 2 * 4096 + 512);
  /* In version 1 the size of the disk is at offset 84. */
  put_le (64, 4, 0x10000);
  put_le (84, 8, 4000);
  assert_ends (524, "the catalog");
  assert_int_equal (disk, 4000);
  put_le (512, 4, UINT32_MAX - 1);
  assert_check ("a cluster");

  put_le (72, 4, UINT32_MAX);
  assert_check ("the catalog");
  put_le (80, 4, 0);
  assert_check ("corrupt");
  put_le (80, 4, 4096);
  put_le (76, 4, 0);
  assert_check ("corrupt");
}

static void
test_cloop (void **state)
{
  (void) state;

  start ("cloop", "");
  put_be (132, 4, 2);
  put_be (136, 8, 160);
  put_be (144, 8, 170);
  put_be (152, 8, 1000);
  assert_ends (1000, "the end of the blocks");
  put_be (152, 8, 0);
  assert_ends (160, "the table of blocks");
  put_be (152, 8, UINT64_MAX);
  assert_check ("the end of the blocks");
  put_be (132, 4, UINT32_MAX);
  assert_check ("the table of blocks");
}

static void
test_dmg (void **state)
{
  (void) state;

  start ("dmg", "");
  assert_check ("not a dmg");
  memcpy (image + 1000, "koly", 4);
  assert_ends (1512, "truncated");
  size = 511;
  assert_check (NULL);
  size = 0;
  assert_check (NULL);
}

static void
test_luks (void **state)
{
  (void) state;

  start ("luks", "LUKS\xba\xbe");
  put_be (104, 4, 8);
  assert_ends (4096, "full sector");
  size = 4096 - 512;
  assert_check ("the encrypted data");
  size = sizeof image;
  put_be (104, 4, UINT32_MAX);
  assert_check ("the encrypted data");
}

/* Three clusters of 8 sectors.  The disk ends after one sector of the third. */
static void
test_parallels (void **state)
{
  (void) state;

  start ("parallels", "WithoutFreeSpace");
  put_le (28, 4, 8);
  put_le (32, 4, 4);
  put_le (36, 8, UINT64_C (1) << 32 | 17);
  assert_ends (80, "the block allocation table");
  put_le (72, 4, 10);
  assert_ends (11 * 512, "a cluster at offset 5120 (512 bytes)");
  put_le (76, 4, UINT32_MAX);   /* a cluster after the end of the disk */
  assert_ends (11 * 512, "a cluster");

  /* With this magic, offsets are in clusters. */
  memcpy (image, "WithouFreSpacExt", 16);
  put_le (36, 8, 17);
  assert_ends (80 * 512 + 512, "a cluster at offset 40960");
  put_le (36, 8, UINT64_MAX);
  assert_check ("a cluster");
  put_le (76, 4, 0);
  assert_ends (88 * 512, "a cluster at offset 40960");
  put_le (28, 4, UINT32_MAX);
  put_le (72, 4, UINT32_MAX);
  assert_check ("a cluster");
  put_le (28, 4, 0);
  assert_check (NULL);          /* left to qemu, which refuses it */
  put_le (28, 4, 1);
  put_le (32, 4, UINT32_MAX);
  assert_check ("the block allocation table");
}

/* Clusters of 512 bytes, of which a table maps 64.  The disk has 66. */
static void
test_qcow (void **state)
{
  (void) state;

  start ("qcow", "QFI\xfb");
  put_be (24, 8, 65 * 512 + 10);
  image[32] = 9;
  image[33] = 6;
  put_be (40, 8, 1000);
  assert_ends (1016, "the L1 table");
  put_be (1008, 8, 2048);
  assert_ends (2048 + 512, "a table at offset 2048");
  put_be (2056, 8, 3072);
  assert_ends (3082, "a cluster at offset 3072 (10 bytes)");
  put_be (2048, 8, 10000);
  assert_ends (10512, "a cluster");
  /* A compressed cluster of 100 bytes. */
  put_be (2048, 8, UINT64_C (1) << 63 | UINT64_C (100) << 54 | 10000);
  assert_ends (10100, "a cluster at offset 10000 (100 bytes)");
  put_be (2064, 8, UINT64_MAX); /* a cluster after the end of the disk */
  assert_ends (10100, "a cluster");
  put_be (2056, 8, UINT64_MAX >> 1);
  assert_check ("a cluster");
  put_be (2056, 8, UINT64_MAX);
  assert_check ("a cluster");
  put_be (1000, 8, UINT64_MAX);
  assert_check ("a table");

  /* All entries of the L1 table point to the same L2 table of 512 bytes.  64
   * such tables are smaller than the file, 600 would be larger.
   */
  put_be (24, 8, sizeof image * 8 + 512);
  for (size_t i = 0; i < sizeof image * 8 / (64 * 512); i++)
    put_be (1000 + 8 * i, 8, 200 * 1024);
  assert_check (NULL);
  put_be (24, 8, UINT64_C (64) * 512 * 600);
  put_be (40, 8, 8192);
  for (size_t i = 0; i < 600; i++)
    put_be (8192 + 8 * i, 8, 200 * 1024);
  assert_check ("tables overlap");
  put_be (24, 8, UINT64_MAX);
  assert_check ("the L1 table");
  image[33] = 14;
  assert_check (NULL);          /* left to qemu, which refuses it */
}

/* Clusters and tables of 4096 bytes. */
static void
test_qed (void **state)
{
  (void) state;

  start ("qed", "QED");
  put_le (4, 4, 4096);
  put_le (8, 4, 1);
  put_le (40, 8, 4096);
  put_le (48, 8, 3 * 4096);
  assert_ends (8192, "the L1 table");
  put_le (4096, 8, 8192);
  assert_ends (12288, "a table");
  put_le (8192, 8, 1);
  put_le (8208, 8, 12288);
  assert_ends (16384, "a cluster");
  put_le (48, 8, 2 * 4096 + 1);
  assert_ends (12289, "a cluster at offset 12288 (1 bytes)");
  put_le (8208, 8, UINT64_MAX);
  assert_check ("a cluster");
  put_le (4096, 8, UINT64_MAX);
  assert_check ("a table");
  put_le (40, 8, UINT64_MAX);
  assert_check ("the L1 table");
  put_le (48, 8, UINT64_MAX);
  assert_check ("the L1 table");
  put_le (4, 4, UINT32_MAX);
  put_le (8, 4, UINT32_MAX);
  assert_check ("tables of the qed image");
  put_le (4, 4, 0);
  assert_check (NULL);          /* left to qemu, which refuses it */
}

/* A file that ends within its header is an error.  A file without the magic of
 * the format passes.
 */
static void
test_header (void **state)
{
  static const char *const formats[] = {
    "bochs", "cloop", "luks", "parallels", "qcow", "qed"
  };

  (void) state;
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    start (formats[i], "");
    size = 10;
    assert_check ("the header");
    size = sizeof image;
    assert_check (NULL);
  }
  start ("raw", "");
  size = 0;
  assert_check (NULL);
}

static void
test_offset (void **state)
{
  (void) state;

  assert_true (map_offset (5, 3, 512) == 1541);
  assert_true (map_offset (UINT64_MAX - 512, 1, 512) == UINT64_MAX);
  assert_true (map_offset (UINT64_MAX, 1, 512) == UINT64_MAX);
  assert_true (map_offset (0, UINT64_MAX, 2) == UINT64_MAX);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_bochs),
    cmocka_unit_test (test_cloop),
    cmocka_unit_test (test_dmg),
    cmocka_unit_test (test_luks),
    cmocka_unit_test (test_parallels),
    cmocka_unit_test (test_qcow),
    cmocka_unit_test (test_qed),
    cmocka_unit_test (test_header),
    cmocka_unit_test (test_offset),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
