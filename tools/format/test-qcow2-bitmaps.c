/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test the bitmap directory of a qcow2 image and the tables of its bitmaps: at
 * the end of the directory and of the file and just beyond them, with a
 * granularity that is too large, and at the limit of memory and just above it.
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

#include "format/qcow2.h"
#include "format/test-format.h"

#define CLUSTER 4096
#define DIRECTORY CLUSTER       /* offset of the directory */
#define TABLES (2 * CLUSTER)    /* offset of the table of the first bitmap; the
                                 * other is one cluster after it */
#define SIZE (4 * CLUSTER)      /* of the file */
#define ENTRY 32                /* bytes of a directory entry with its name */
#define BITMAPS 2

static unsigned char bytes[SIZE];
static struct qcow2 qcow2;

static void
put (uint64_t offset, unsigned count, uint64_t value)
{
  for (; count > 0; count--, value >>= 8)
    bytes[offset + count - 1] = value;
}

/* Two bitmaps of a disk of DISK bytes.  The name of each has one byte. */
static void
build (uint64_t disk)
{
  unsigned i;

  memset (bytes, 0, sizeof bytes);
  qcow2 = (struct qcow2) {
    .size = disk, .cluster_bits = 12, .nr_bitmaps = BITMAPS,
    .bitmap_directory_offset = DIRECTORY,
    .bitmap_directory_size = BITMAPS * ENTRY
  };
  for (i = 0; i < BITMAPS; i++) {
    uint64_t entry = DIRECTORY + i * ENTRY;

    put (entry, 8, TABLES + i * CLUSTER);
    put (entry + 8, 4, 1);
    bytes[entry + 16] = 1;      /* a dirty bitmap */
    bytes[entry + 17] = 16;     /* of 64 KiB for each bit */
    put (entry + 18, 2, 1);
    bytes[entry + 24] = 'a' + i;
    put (TABLES + i * CLUSTER, 8, 3 * CLUSTER);
  }
}

/* REASON is NULL if the image is good. */
static void
check (const char *reason)
{
  FILE *f = tmpfile ();
  struct error error = { "" };
  struct file opened;
  struct imagefile file = test_image (&opened, f, SIZE);

  assert_int_equal (pwrite (fileno (f), bytes, SIZE, 0), SIZE);
  assert_checked (qcow2_check_bitmaps (&file, &qcow2, &error), &error, reason);
  fclose (f);
}

static void
test_directory (void **state)
{
  (void) state;
  build (1 << 20);
  check (NULL);
  qcow2.bitmap_directory_size = ENTRY + 24 - 1;
  check ("the bitmap directory is shorter than its entries");
  qcow2.bitmap_directory_offset = SIZE;
  check ("the bitmap directory");
}

static void
test_tables (void **state)
{
  const uint64_t second = DIRECTORY + ENTRY;

  (void) state;
  build (1 << 20);
  put (second, 8, SIZE);
  check ("a bitmap table");
  put (second + 12, 4, 1);      /* in use: qemu does not load it */
  check (NULL);

  build (1 << 20);
  bytes[second + 17] = 32;
  check ("a granularity of 2^32");

  /* The two tables have as many bytes as the file, and then 8 more. */
  build (1 << 20);
  put (DIRECTORY + 8, 4, CLUSTER / 4);
  put (second + 8, 4, CLUSTER / 4);
  put (second, 8, TABLES);
  check (NULL);
  put (DIRECTORY, 8, CLUSTER);
  put (DIRECTORY + 8, 4, CLUSTER / 4 + 1);
  check ("bitmap tables overlap");
}

/* Clusters of 2 MiB.  The first bitmap has a bit for each byte of the disk, and
 * 257 entries: those of 512 MiB, for a disk of 4 GiB, and one more.  qemu does
 * not load the other bitmap.
 */
static void
build_large (uint64_t disk)
{
  unsigned i;

  build (disk);
  qcow2.cluster_bits = 21;
  bytes[DIRECTORY + 17] = 0;
  put (DIRECTORY + 8, 4, 257);
  for (i = 0; i < 257; i++)
    put (TABLES + 8 * i, 8, 3 * CLUSTER);
  put (DIRECTORY + ENTRY + 12, 4, 1);
}

static void
test_memory (void **state)
{
  const uint64_t disk = UINT64_C (4) << 30, second = DIRECTORY + ENTRY;
  const char *const refused =
    "the bitmaps of the qcow2 image take more than 512 MiB of memory in qemu";

  (void) state;
  /* The entry after the last is not used. */
  build_large (disk);
  check (NULL);
  build_large (disk + 1);
  check (refused);
  /* A cluster of zeros takes no memory. */
  put (TABLES + 8 * 256, 8, 0);
  check (NULL);

  /* The memory of all bitmaps counts: 2 MiB of the other one, which has a bit
   * for 256 bytes.
   */
  build_large (disk);
  bytes[second + 17] = 8;
  put (TABLES, 8, 0);
  put (second + 12, 4, 0);
  check (NULL);
  put (TABLES, 8, 3 * CLUSTER);
  check (refused);
  put (second + 12, 4, 1);
  check (NULL);

  /* A cluster that a bitmap does not fill counts as the bytes in it: here one
   * byte, and 8193 bytes of the other bitmap.
   */
  build_large (disk + 1);
  put (TABLES, 8, 0);
  put (second + 12, 4, 0);
  check (NULL);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_directory),
    cmocka_unit_test (test_tables),
    cmocka_unit_test (test_memory),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
