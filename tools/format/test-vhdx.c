/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test with generated images: which vhdx images are complete, and where their
 * content is.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "format/formats.h"
#include "format/test-format.h"

#define MIB (UINT64_C (1) << 20)
#define REGIONS 196608
#define METADATA (1 * MIB)
#define BAT (2 * MIB)
#define SIZE (8 * MIB)

/* The offsets of the items within the metadata region. */
enum { BLOCK_SIZE = 65536, FLAGS = 65540, DISK = 65544, SECTOR = 65552 };

static FILE *image;
static uint64_t size;

static void
put (uint64_t offset, unsigned bytes, uint64_t value)
{
  unsigned char le[8];

  for (unsigned i = 0; i < bytes; i++)
    le[i] = value >> (8 * i);
  assert_int_equal (pwrite (fileno (image), le, bytes, offset), bytes);
}

static void
put_bytes (uint64_t offset, const char *bytes, size_t len)
{
  assert_int_equal (pwrite (fileno (image), bytes, len, offset), len);
}

static void
put_region (unsigned i, const char *guid, uint64_t offset, uint32_t len)
{
  uint64_t entry = REGIONS + 16 + i * 32;

  put_bytes (entry, guid, 16);
  put (entry + 16, 8, offset);
  put (entry + 24, 4, len);
}

static void
put_item (unsigned i, const char *guid, uint32_t offset)
{
  uint64_t entry = METADATA + 32 + i * 32;

  put_bytes (entry, guid, 16);
  put (entry + 16, 4, offset);
}

/* A disk of 10 MiB in blocks of 1 MiB, without any data. */
static void
build (void)
{
  if (image)
    fclose (image);
  image = tmpfile ();
  assert_non_null (image);
  size = SIZE;
  assert_int_equal (ftruncate (fileno (image), size), 0);
  put_bytes (REGIONS, "regi", 4);
  put (REGIONS + 8, 4, 2);
  put_region (0, "\x66\x77\xc2\x2d\x23\xf6\x00\x42"
              "\x9d\x64\x11\x5e\x9b\xfd\x4a\x08", BAT, MIB);
  put_region (1, "\x06\xa2\x7c\x8b\x90\x47\x9a\x4b"
              "\xb8\xfe\x57\x5f\x05\x0f\x88\x6e", METADATA, MIB);
  put_bytes (METADATA, "metadata", 8);
  put (METADATA + 10, 2, 3);
  put_item (0, "\x37\x67\xa1\xca\x36\xfa\x43\x4d"
            "\xb3\xb6\x33\xf0\xaa\x44\xe7\x6b", BLOCK_SIZE);
  put_item (1, "\x24\x42\xa5\x2f\x1b\xcd\x76\x48"
            "\xb2\x11\x5d\xbe\xd8\x3b\xf4\xb8", DISK);
  put_item (2, "\x1d\xbf\x41\x81\x6f\xa9\x09\x47"
            "\xba\x47\xf2\x33\xa8\xfa\xab\x5f", SECTOR);
  put (METADATA + BLOCK_SIZE, 4, MIB);
  put (METADATA + DISK, 8, 10 * MIB);
  put (METADATA + SECTOR, 4, 512);
}

static int
close_image (void **state)
{
  (void) state;
  if (image)
    fclose (image);
  image = NULL;
  return 0;
}

static void
put_block (unsigned n, uint64_t offset, unsigned block_state)
{
  put (BAT + n * 8, 8, offset | block_state);
}

static void
assert_result (const char *expected)
{
  struct file opened;
  struct imagefile file = test_image (&opened, image, size);
  struct error error = { "" };
  struct vhdx vhdx;
  int r = vhdx_check (&file, &vhdx, &error);

  assert_checked (r, &error, expected);
}

static void
test_regions (void **state)
{
  (void) state;

  build ();
  assert_result (NULL);
  size += 100;
  assert_result (NULL);
  size = REGIONS + 65536 - 512;
  assert_result ("the region table");
  size = 3 * MIB - 512;
  assert_result ("the block allocation table");
  build ();
  put (REGIONS + 8, 4, 2048);
  assert_result ("region table is corrupt");
  put (REGIONS + 8, 4, 1);
  assert_result ("the metadata of the vhdx image is missing");
  put (REGIONS + 8, 4, 0);
  assert_result ("the block allocation table of the vhdx image is missing");
  build ();
  put (REGIONS, 4, 0);
  assert_result ("region table is corrupt");

  build ();
  put (REGIONS + 32, 8, BAT + 8);
  assert_result ("region table is corrupt");
  put (REGIONS + 32, 8, UINT64_MAX);
  assert_result ("passes the end");
  /* A table that is larger than any disk needs is refused, even if the file
   * contains all of it.
   */
  build ();
  put (REGIONS + 40, 4, 514 * MIB);
  size = 1024 * MIB;
  assert_result ("region table is corrupt");
  put (REGIONS + 40, 4, 513 * MIB);
  assert_result (NULL);
}

static void
test_metadata (void **state)
{
  static const uint32_t wrong_blocks[] = {
    0, 512, MIB / 2, MIB + 1, 3 * MIB, 512 * MIB
  };

  (void) state;

  for (unsigned i = 0; i < sizeof wrong_blocks / sizeof *wrong_blocks; i++) {
    build ();
    put (METADATA + BLOCK_SIZE, 4, wrong_blocks[i]);
    assert_result ("metadata is corrupt");
  }
  build ();
  put (METADATA + DISK, 8, 10 * MIB + 1);
  assert_result ("metadata is corrupt");
  put (METADATA + DISK, 8, (UINT64_C (64) << 40) + 512);
  assert_result ("metadata is corrupt");
  put (METADATA + DISK, 8, UINT64_MAX - 511);
  assert_result ("metadata is corrupt");
  put (METADATA + DISK, 8, UINT64_C (64) << 40);
  assert_result ("too small for 67108864 blocks");
  put (METADATA + DISK, 8, 0);
  assert_result (NULL);

  build ();
  put (METADATA + SECTOR, 4, 4096);
  assert_result ("which qemu cannot read");
  put (METADATA + SECTOR, 4, 0);
  assert_result ("metadata is corrupt");
  build ();
  put (METADATA + FLAGS, 4, 1);
  assert_result (NULL);
  put (METADATA + FLAGS, 4, 3);
  assert_result ("has a parent");

  build ();
  put (METADATA + 10, 2, 2);
  assert_result ("incomplete");
  put (METADATA + 10, 2, 2048);
  assert_result ("metadata is corrupt");
  build ();
  put (METADATA + 32 + 16, 4, UINT32_MAX);
  assert_result ("passes the end");
  put (METADATA, 1, 0);
  assert_result ("metadata is corrupt");
}

static void
test_blocks (void **state)
{
  (void) state;

  for (unsigned i = 0; i < 8; i++) {
    build ();
    put_block (3, 0, i);
    assert_result (i == 4 ? "state 4" : i == 6 ? "state 6 at offset 0"
                   : i == 7 ? "partly in a parent" : NULL);
  }
  build ();
  put_block (3, 7 * MIB, 6);
  assert_result (NULL);
  put_block (3, 8 * MIB, 6);
  assert_result ("a block");
  put_block (3, ~UINT64_C (0xfffff), 6);
  assert_result ("a block");
  /* Ignored are unused bits, entries of blocks after the end of the disk, and
   * those bytes of the last block that are after the end of the disk.
   */
  put_block (3, 7 * MIB + 0xffff8, 6);
  put_block (10, 8 * MIB, 6);
  assert_result (NULL);
  put_block (9, 7 * MIB, 6);
  size -= 512;
  put (METADATA + DISK, 8, 10 * MIB - 512);
  put_block (3, 0, 0);
  assert_result (NULL);
  size--;
  assert_result ("a block");
}

struct opened {
  struct file in;
  struct imagefile file;
  struct vhdx vhdx;
  struct pages pages;
};

static void
open_image (struct opened *opened)
{
  struct error error = { "" };

  opened->file = test_image (&opened->in, image, size);
  assert_int_equal (vhdx_check (&opened->file, &opened->vhdx, &error), 0);
  assert_int_equal (pages_init (&opened->pages, &opened->file, &error), 0);
}

static void
assert_run (struct opened *opened, uint64_t offset, enum run_kind kind,
            uint64_t len, uint64_t host)
{
  struct error error = { "" };
  struct run run;

  assert_int_equal (vhdx_find_run (&opened->pages, &opened->vhdx, offset, &run,
                                   &error), 0);
  assert_int_equal (run.kind, kind);
  assert_int_equal (run.len, len);
  if (kind == RUN_DATA)
    assert_int_equal (run.host, host);
}

static void
test_map (void **state)
{
  struct opened opened;

  (void) state;

  build ();
  put (METADATA + DISK, 8, 10 * MIB - 512);
  put_block (1, 0, 1);
  put_block (2, 5 * MIB, 2);
  put_block (3, 5 * MIB, 6);
  put_block (4, 6 * MIB, 6);
  put_block (5, 4 * MIB, 6);
  put_block (6, 0, 3);
  put_block (7, 0, 5);
  put_block (9, 7 * MIB, 6);
  open_image (&opened);
  assert_run (&opened, 0, RUN_ZEROS, 3 * MIB, 0);
  assert_run (&opened, 3 * MIB - 1, RUN_ZEROS, 1, 0);
  assert_run (&opened, 3 * MIB, RUN_DATA, 2 * MIB, 5 * MIB);
  assert_run (&opened, 4 * MIB + 7, RUN_DATA, MIB - 7, 6 * MIB + 7);
  assert_run (&opened, 5 * MIB, RUN_DATA, MIB, 4 * MIB);
  assert_run (&opened, 6 * MIB, RUN_ZEROS, 3 * MIB, 0);
  assert_run (&opened, 9 * MIB + 512, RUN_DATA, MIB - 1024, 7 * MIB + 512);
  pages_destroy (&opened.pages);
}

/* A chunk has 16 blocks of 256 MiB.  After its entries there is one that is not
 * for a block, so put_block (17) sets the entry of block 16.
 */
static void
test_chunks (void **state)
{
  const uint64_t block = 256 * MIB;
  struct opened opened;

  (void) state;

  build ();
  put (METADATA + BLOCK_SIZE, 4, block);
  put (METADATA + DISK, 8, 40 * block);
  put_block (16, 7 * MIB, 7);
  put_block (33, 7 * MIB, 6);
  put_block (17, 256 * MIB, 6);
  put_block (34, 512 * MIB, 6);
  put_block (41, 768 * MIB, 6);
  size = 1024 * MIB;
  open_image (&opened);
  assert_run (&opened, 0, RUN_ZEROS, 16 * block, 0);
  assert_run (&opened, 16 * block, RUN_DATA, block, 256 * MIB);
  assert_run (&opened, 17 * block, RUN_ZEROS, 15 * block, 0);
  assert_run (&opened, 32 * block, RUN_DATA, block, 512 * MIB);
  assert_run (&opened, 33 * block, RUN_ZEROS, 6 * block, 0);
  assert_run (&opened, 39 * block, RUN_DATA, block, 768 * MIB);
  pages_destroy (&opened.pages);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown (test_regions, close_image),
    cmocka_unit_test_teardown (test_metadata, close_image),
    cmocka_unit_test_teardown (test_blocks, close_image),
    cmocka_unit_test_teardown (test_map, close_image),
    cmocka_unit_test_teardown (test_chunks, close_image),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
