/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test which vmdk images are taken for images that stand alone, and which for
 * complete, with images that are made here.
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

#include "vmdk.h"

#define SECTOR 512
#define EXTENT "RW 300 SPARSE \"disk.vmdk\"\n"

/* In sectors: 0 is the header, 1 to 20 the descriptor, 21 the directory, 22
 * the only grain table, and from 24 on there are grains.
 */
static unsigned char image[200 * SECTOR];
static size_t size;

static void
put (size_t offset, unsigned bytes, uint64_t value)
{
  for (unsigned i = 0; i < bytes; i++)
    image[offset + i] = value >> (8 * i);
}

static void
put_descriptor (const char *parent, const char *extents)
{
  memset (image + SECTOR, 0, 20 * SECTOR);
  sprintf ((char *) image + SECTOR, "# Disk DescriptorFile\nversion=1\n"
           "CID=12345678\n%screateType=\"monolithicSparse\"\n"
           "# Extent description\n%s\nddb.adapterType = \"ide\"\n",
           parent, extents);
}

/* A disk of 300 sectors, in grains of 128 sectors. */
static void
build (void)
{
  memset (image, 0, sizeof image);
  size = sizeof image;
  memcpy (image, "KDMV", 4);
  put (4, 4, 1);
  put (12, 8, 300);
  put (20, 8, 128);
  put (28, 8, 1);
  put (36, 8, 20);
  put (44, 4, 16);
  put (56, 8, 21);
  put (21 * SECTOR, 4, 22);
  put_descriptor ("parentCID=ffffffff\n", EXTENT);
}

static void
assert_result (int (*check) (const struct imagefile *, struct error *),
               const char *expected)
{
  FILE *f = tmpfile ();
  struct imagefile file = { .fd = fileno (f), .size = size };
  struct error error = { "" };
  int r;

  assert_int_equal (pwrite (file.fd, image, size, 0), size);
  r = check (&file, &error);
  assert_int_equal (r == -1, error_is_set (&error));
  assert_int_equal (r, expected ? -1 : 0);
  if (expected && !strstr (error.text, expected))
    assert_string_equal (error.text, expected);
  fclose (f);
}

static void
assert_alone (const char *parent, const char *extents, const char *expected)
{
  put_descriptor (parent, extents);
  assert_result (vmdk_check_alone, expected);
}

static void
test_extents (void **state)
{
  const char *parent = "parentCID=ffffffff\n";

  (void) state;

  build ();
  assert_alone (parent, EXTENT, NULL);
  assert_alone (parent, "RDONLY 300 SPARSE \"any name.vmdk\"\r\n", NULL);
  assert_alone (parent, "RW 300 SPARSE \"a\"b.vmdk\"\n", NULL);
  assert_alone (parent, "RW 300 SPARSE \"/etc/passwd\"\n", "other files");
  assert_alone (parent, "RW 300 SPARSE \"../x\"\n", "other files");
  assert_alone (parent, "RW 300 FLAT \"passwd\" 0\n", "other files");
  assert_alone (parent, "RW 300 FLAT \" SPARSE \" 0\n", "other files");
  assert_alone (parent, EXTENT "  RW 300 SPARSE \"disk.vmdk\"\n",
                "other files");
  assert_alone (parent, "", "names no extent");
}

static void
test_parent (void **state)
{
  (void) state;

  build ();
  assert_alone ("parentCID=FFFFFFFF\n", EXTENT, NULL);
  assert_alone ("parentCID=12345678\n", EXTENT, "with a parent");
  assert_alone ("", EXTENT, "without a descriptor");
  assert_alone ("parentCID=ffffffff\nparentFileNameHint=\"/x\"\n", EXTENT,
                "with a parent");

  /* Behind the descriptor, but where qemu looks. */
  build ();
  put (36, 8, 1);
  memset (image + SECTOR + strlen ((char *) image + SECTOR), 'x', 10 * SECTOR);
  memcpy (image + 10 * SECTOR, "parentFileNameHint=\"/x\"", 23);
  assert_result (vmdk_check_alone, "with a parent");
}

static void
test_header (void **state)
{
  (void) state;

  build ();
  put (12, 8, 0);
  assert_result (vmdk_check_alone, "with no size");
  build ();
  put (28, 8, 30);
  assert_result (vmdk_check_alone, "without a descriptor");
  build ();
  put (36, 8, 0);
  assert_result (vmdk_check_alone, "without a descriptor");
  put (36, 8, 21);
  assert_result (vmdk_check_alone, "without a descriptor");
  build ();
  size = 20 * SECTOR;
  assert_result (vmdk_check_alone, "truncated");

  build ();
  put (20, 8, 0);
  assert_result (vmdk_check, "0 sectors in a grain");
  put (20, 8, 0x200001);
  assert_result (vmdk_check, "sectors in a grain");
  build ();
  put (44, 4, 0);
  assert_result (vmdk_check, "0 grains in a table");
  put (44, 4, 513);
  assert_result (vmdk_check, "513 grains in a table");
  build ();
  put (12, 8, UINT64_MAX);
  assert_result (vmdk_check, "too large");
}

static void
test_grains (void **state)
{
  (void) state;

  build ();
  assert_result (vmdk_check, NULL);
  put (22 * SECTOR, 4, 24);
  size = (24 + 128) * SECTOR;
  assert_result (vmdk_check, NULL);
  size--;
  assert_result (vmdk_check, "a grain");

  /* The last grain has 300 - 2 * 128 sectors. */
  put (22 * SECTOR, 4, 0);
  put (22 * SECTOR + 8, 4, 24);
  size = (24 + 44) * SECTOR;
  assert_result (vmdk_check, NULL);
  size--;
  assert_result (vmdk_check, "a grain");

  /* Behind the end of the disk. */
  put (22 * SECTOR + 8, 4, 0);
  put (22 * SECTOR + 12, 4, 10000);
  assert_result (vmdk_check, NULL);

  /* 1 is sector 1, or zeros if a flag says so. */
  put (22 * SECTOR, 4, 1);
  assert_result (vmdk_check, "a grain");
  put (8, 4, 4);
  assert_result (vmdk_check, NULL);

  put (21 * SECTOR, 4, 10000);
  assert_result (vmdk_check, "a grain table");
  put (56, 8, 10000);
  assert_result (vmdk_check, "the grain directory");
  put (56, 8, UINT64_MAX - 1);
  assert_result (vmdk_check, "too large");
}

static void
test_compressed (void **state)
{
  (void) state;

  build ();
  put (77, 2, 1);
  put (8, 4, 1 << 17);
  put (22 * SECTOR, 4, 24);
  put (24 * SECTOR + 8, 4, 1000);
  size = 24 * SECTOR + 12 + 1000;
  assert_result (vmdk_check, NULL);
  size--;
  assert_result (vmdk_check, "a grain");
  size = 24 * SECTOR + 11;
  assert_result (vmdk_check, "a grain");
}

static void
test_footer (void **state)
{
  (void) state;

  build ();
  memcpy (image + 198 * SECTOR, image, SECTOR);
  put (56, 8, UINT64_MAX);
  assert_result (vmdk_check, NULL);
  put (198 * SECTOR + 56, 8, 10000);
  assert_result (vmdk_check, "the grain directory");
  size -= SECTOR;
  assert_result (vmdk_check, "no header");
  size--;
  assert_result (vmdk_check, "full sector");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_extents),
    cmocka_unit_test (test_parent),
    cmocka_unit_test (test_header),
    cmocka_unit_test (test_grains),
    cmocka_unit_test (test_compressed),
    cmocka_unit_test (test_footer),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
