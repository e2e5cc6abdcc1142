/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test with generated vmdk images: which of them name no other file, which are
 * complete, and which files a descriptor names.
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
  struct file opened;
  struct imagefile file = test_image (&opened, f, size);
  struct error error = { "" };

  assert_int_equal (pwrite (fileno (f), image, size, 0), size);
  assert_checked (check (&file, &error), &error, expected);
  fclose (f);
}

static void
assert_alone (const char *parent, const char *extents, const char *expected)
{
  put_descriptor (parent, extents);
  assert_result (vmdk_check_self_contained, expected);
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
  assert_alone (parent, "RW 300 SPARSE \"/vmfs/volumes/x/disk.vmdk\"\n", NULL);
  assert_alone (parent, "RW 300 SPARSE \"..\\x\"\n", NULL);
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
  assert_alone ("parentCID=fffffff1\n", EXTENT, "with a parent");
  assert_alone ("parentCID=1fffffff\n", EXTENT, "with a parent");
  assert_alone ("parentCID = ffffffff\n", EXTENT, NULL);
  assert_alone ("parentCID=ffffffff\nparentCID=12345678\n", EXTENT,
                "with a parent");
  assert_alone ("", EXTENT, "does not say");
  assert_alone ("parentCID=ffffffff\n# parentfilenamehint=\"/x\"\n", EXTENT,
                "with a parent");
  assert_alone ("parentCID=ffffffff\nparentFileNameHint=\"/x\"\n", EXTENT,
                "with a parent");

  /* The hint is after the descriptor, but in the sectors that qemu searches. */
  build ();
  put (36, 8, 1);
  memset (image + SECTOR + strlen ((char *) image + SECTOR), 'x', 10 * SECTOR);
  memcpy (image + 10 * SECTOR, "parentFileNameHint=\"/x\"", 23);
  assert_result (vmdk_check_self_contained, "with a parent");
  /* qemu ends its search at a NUL. */
  image[9 * SECTOR] = '\0';
  assert_result (vmdk_check_self_contained, NULL);
  put (36, 8, 10);
  assert_result (vmdk_check_self_contained, "with a parent");
  put (36, 8, 9);
  assert_result (vmdk_check_self_contained, NULL);

  /* The hint is in the descriptor, but after the sectors that qemu searches. */
  build ();
  put (36, 8, 40);
  assert_result (vmdk_check_self_contained, NULL);
  memcpy (image + 40 * SECTOR, "parentFileNameHint=\"/x\"", 23);
  assert_result (vmdk_check_self_contained, "with a parent");
  put (36, 8, 39);
  assert_result (vmdk_check_self_contained, NULL);
}

static void
test_header (void **state)
{
  (void) state;

  build ();
  put (12, 8, 0);
  assert_result (vmdk_check_self_contained, "with no size");
  build ();
  put (28, 8, 30);
  assert_result (vmdk_check_self_contained, "without a descriptor");
  put (28, 8, UINT64_MAX);
  assert_result (vmdk_check_self_contained, "without a descriptor");
  put (28, 8, 0);
  put (36, 8, 0);
  assert_result (vmdk_check_self_contained, "one part of a split vmdk");
  build ();
  memset (image + SECTOR, 0, 20 * SECTOR);
  assert_result (vmdk_check_self_contained, "one part of a split vmdk");
  build ();
  put (36, 8, 0);
  assert_result (vmdk_check_self_contained, "without a descriptor");
  put (36, 8, 2049);
  assert_result (vmdk_check_self_contained, "larger than 1 MiB");
  put (36, 8, UINT64_MAX);
  assert_result (vmdk_check_self_contained, "larger than 1 MiB");
  put (36, 8, 200);
  assert_result (vmdk_check_self_contained, "truncated");
  build ();
  size = 20 * SECTOR;
  assert_result (vmdk_check_self_contained, "truncated");
  put (36, 8, 1);
  assert_result (vmdk_check_self_contained, NULL);
  size = 2 * SECTOR - 1;
  assert_result (vmdk_check_self_contained, "truncated");

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

  /* Entries after the end of the disk are not checked. */
  put (22 * SECTOR + 8, 4, 0);
  put (22 * SECTOR + 12, 4, 10000);
  assert_result (vmdk_check, NULL);

  /* An entry of 1 means sector 1; or zeros, if the header has a flag for it. */
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

/* The memory that qemu would need for a compressed grain is limited. */
static void
test_memory (void **state)
{
  (void) state;

  build ();
  put (77, 2, 1);
  put (20, 8, 2048);
  assert_result (vmdk_check, NULL);
  put (20, 8, 2049);
  assert_result (vmdk_check, "compressed grains of 2049 sectors");
  put (77, 2, 0);
  assert_result (vmdk_check, NULL);
}

/* An empty disk of 62 TiB has a directory of 7.75 MiB.  The directory counts
 * twice, because there can be a redundant one.
 */
static void
test_large (void **state)
{
  FILE *f = tmpfile ();
  struct file opened;
  struct imagefile file = test_image (&opened, f, 32 << 20);
  struct error error = { "" };
  uint64_t memory;

  (void) state;

  build ();
  put (12, 8, UINT64_C (62) << 31);
  put (44, 4, 512);
  put (56, 8, 10000);
  assert_int_equal (pwrite (fileno (f), image, size, 0), size);
  assert_int_equal (ftruncate (fileno (f), file.size), 0);
  assert_int_equal (vmdk_check_and_count (&file, &memory, &error), 0);
  assert_int_equal (memory, 2 * 62 << 17);
  fclose (f);
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
  put (198 * SECTOR + 56, 8, 21);
  put (198 * SECTOR + 12, 8, 0);
  assert_result (vmdk_check, "different sizes");
  size -= SECTOR;
  assert_result (vmdk_check, "cut short");
  size--;
  assert_result (vmdk_check, "cut short");
  size = 2 * SECTOR;
  assert_result (vmdk_check, "cut short");
}

/* ---- Extents that are other files ------------------------------------ */

static char seen[4096];

static int
add_extent (void *opaque, const struct vmdk_extent *extent,
            struct error *error)
{
  char *end = seen + strlen (seen);

  (void) opaque;
  (void) error;
  snprintf (end, seen + sizeof seen - end, "%s %s %llu+%llu;", extent->type,
            extent->name, (unsigned long long) extent->offset,
            (unsigned long long) extent->size);
  return 0;
}

static int
list_extents (const struct imagefile *file, struct error *error)
{
  seen[0] = '\0';
  return vmdk_extents (file, add_extent, NULL, error);
}

/* A descriptor file with LINES names the extents EXPECTED. */
static void
assert_extents (const char *lines, const char *expected)
{
  memset (image, 0, sizeof image);
  size = sprintf ((char *) image, "# Disk DescriptorFile\nRW = 1\n%s\n#DDB\n",
                  lines);
  assert_result (list_extents, NULL);
  assert_string_equal (seen, expected);
}

/* A descriptor file that ends with LINES is refused with ERROR. */
static void
assert_no_extents (const char *lines, const char *error)
{
  memset (image, 0, sizeof image);
  size = sprintf ((char *) image, "# Disk DescriptorFile\nRW = 1\n%s", lines);
  assert_result (list_extents, error);
}

static int
refuse_extent (void *opaque, const struct vmdk_extent *extent,
               struct error *error)
{
  (void) opaque;
  return error_set (error, "%s is refused", extent->name);
}

static int
refuse_extents (const struct imagefile *file, struct error *error)
{
  return vmdk_extents (file, refuse_extent, NULL, error);
}

/* If the callback refuses an extent, the image is refused. */
static void
test_refused (void **state)
{
  (void) state;

  memset (image, 0, sizeof image);
  size = sprintf ((char *) image, "# Disk DescriptorFile\nRW = 1\n"
                  "RW 4 FLAT \"a\" 0\nRW 4 FLAT \"b\" 0\n#DDB\n");
  assert_result (refuse_extents, "a is refused");
}

static void
test_names (void **state)
{
  (void) state;

  assert_extents ("RW 4 FLAT \"a b\" 2\nRW 1 VMFS \"/c\"\r\n"
                  "\t RW  3 SPARSE \"d\"\nRW 3 SESPARSE \"e\"",
                  "FLAT a b 1024+2048;VMFS /c 0+512;SPARSE d 0+1536;"
                  "SESPARSE e 0+1536;");
  assert_extents ("RW 4 FLAT \"json:{}\" 0 \"x\"\n",
                  "FLAT json:{} 0+2048;");
  /* qemu accepts line ends between the fields of a line. */
  assert_extents ("RW\n4\nFLAT\n\"a\"\n2\n", "FLAT a 1024+2048;");

  assert_no_extents ("", "names no extent");
  assert_no_extents ("RWX 1 FLAT \"a\" 0\n", "names no extent");
  assert_no_extents ("RW 1 FLAT \"a\" 0\nRW 1 ZERO\n", "'RW 1 ZERO'");
  assert_no_extents ("RDONLY 1 FLAT \"a\" 0\n", "'RDONLY");
  assert_no_extents ("NOACCESS 1 FLAT \"a\" 0\n", "'NOACCESS");
  assert_no_extents ("RW 1 FLAT \"a\"\n", "'RW 1 FLAT");
  assert_no_extents ("RW 1 FLAT \"a\" -1\n", "'RW 1 FLAT");
  assert_no_extents ("RW 1 FLAT \"a\" 0x10000000000000000\nRW 1 FLAT \"a\" "
                     "18014398509481984\n", "18014398509481984'");
  assert_no_extents ("RW 18014398509481984 FLAT \"a\" 0\n", "'RW 1801");
  assert_no_extents ("RW 0 FLAT \"a\" 0\n", "'RW 0");
  assert_no_extents ("RW 0x10 FLAT \"a\" 0\n", "'RW 0x10");
  assert_no_extents ("RW 1 SPARSE \"a\" 0\n", "'RW 1 SPARSE");
  assert_no_extents ("#DDB\nRW 1 SPARSE \"a\"\n", "truncated");
  assert_no_extents ("RW 1 SPARSE \"a\"\n#DD", "truncated");
}

static void
test_embedded (void **state)
{
  (void) state;

  /* A sparse image with a capacity is its own extent. */
  build ();
  assert_result (list_extents, NULL);
  assert_string_equal (seen, "");
  /* If the capacity is 0, the extents are those that the descriptor in the
   * image names.  The descriptor can be anywhere in the file.
   */
  put (12, 8, 0);
  assert_result (list_extents, NULL);
  assert_string_equal (seen, "SPARSE disk.vmdk 0+153600;");
  put (28, 8, 100);
  assert_result (list_extents, "names no extent");
  strcpy ((char *) image + 100 * SECTOR, "RW 1 FLAT \"x\" 0\nddb.\n");
  assert_result (list_extents, NULL);
  assert_string_equal (seen, "FLAT x 0+512;");
  put (28, 8, 10000);
  assert_result (list_extents, "passes the end");
  put (28, 8, UINT64_MAX);
  assert_result (list_extents, "corrupt");
  put (28, 8, 0);
  assert_result (list_extents, NULL);

  memcpy (image, "COWD", 4);
  assert_result (list_extents, NULL);
  size = 3;
  assert_result (list_extents, "truncated");
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
    cmocka_unit_test (test_memory),
    cmocka_unit_test (test_large),
    cmocka_unit_test (test_footer),
    cmocka_unit_test (test_names),
    cmocka_unit_test (test_refused),
    cmocka_unit_test (test_embedded),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
