/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test the parser of qcow2 headers and tables, with generated images of a few
 * clusters: fields at their limits and beyond them, and clusters of each kind,
 * which end at the end of the file or just beyond it.
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

#include "format/qcow2-check.h"
#include "format/qcow2.h"
#include "format/test-format.h"

#define MAX_SIZE (1 << 20)
#define COPIED (UINT64_C (1) << 63)
#define COMPRESSED (UINT64_C (1) << 62)

/* An image in clusters of 4096 bytes (16384 with extended L2): cluster 0 is the
 * header, 1 the L1 table, 2 the L2 table, and from 3 on there is data.
 */
struct builder {
  unsigned char bytes[MAX_SIZE];
  uint64_t cluster, size;       /* sizes of a cluster and of the file */
};

static struct builder b;

static void
put32 (uint64_t offset, uint32_t value)
{
  for (int i = 0; i < 4; i++)
    b.bytes[offset + i] = value >> (24 - 8 * i);
}

static void
put64 (uint64_t offset, uint64_t value)
{
  put32 (offset, value >> 32);
  put32 (offset + 4, value);
}

/* Build an image of a disk of CLUSTERS clusters, in a file of 4 clusters. */
static void
build (unsigned clusters, uint64_t features)
{
  bool extended = features & 16;

  memset (&b, 0, sizeof b);
  b.cluster = extended ? 16384 : 4096;
  b.size = 4 * b.cluster;
  memcpy (b.bytes, "QFI\xfb", 4);
  put32 (4, 3);
  put32 (20, extended ? 14 : 12);
  put64 (24, clusters * b.cluster);
  put32 (36, 1);
  put64 (40, b.cluster);
  put64 (72, features);
  put32 (100, 104);
  put64 (b.cluster, COPIED | (2 * b.cluster));
}

static void
put_l2 (unsigned i, uint64_t entry)
{
  put64 (2 * b.cluster + i * 8, entry);
}

/* Read the header and check the tables.  Returns 0, or -1 and sets *ERROR. */
static int
inspect (struct qcow2 *qcow2, struct error *error)
{
  FILE *f = tmpfile ();
  struct file opened;
  struct imagefile file = test_image (&opened, f, b.size);
  struct qcow2_count count;
  int r;

  assert_int_equal (pwrite (fileno (f), b.bytes, b.size, 0), b.size);
  error->text[0] = '\0';
  r = qcow2_read_header (&file, qcow2, error);
  if (r == 0)
    r = qcow2_check (&file, &file, qcow2, &count, error);
  assert_int_equal (r == -1, error_is_set (error));
  fclose (f);
  return r;
}

static void
assert_good (void)
{
  struct error error;
  struct qcow2 qcow2;

  inspect (&qcow2, &error);
  assert_string_equal (error.text, "");
}

static void
assert_bad (const char *reason)
{
  struct error error;
  struct qcow2 qcow2;

  assert_int_equal (inspect (&qcow2, &error), -1);
  if (!strstr (error.text, reason))
    assert_string_equal (error.text, reason);
}

static void
test_header (void **state)
{
  (void) state;

  build (2, 0);
  assert_good ();
  put32 (4, 4);
  assert_bad ("version 4");

  build (2, 0);
  put32 (20, 8);
  assert_bad ("cluster size (2^8)");
  put32 (20, 22);
  assert_bad ("cluster size (2^22)");

  build (2, 0);
  put32 (100, 96);
  assert_bad ("its length is 96");
  put32 (100, 4104);
  assert_bad ("its length is 4104");

  build (2, 1);                 /* dirty */
  assert_good ();
  build (2, 2);
  assert_bad ("qemu-img check");
  build (2, 8);                 /* compression type */
  assert_good ();
  build (2, 32);
  assert_bad ("features");
  build (2, UINT64_C (1) << 63);
  assert_bad ("features");

  build (2, 16);
  assert_good ();
  put32 (20, 13);
  assert_bad ("subclusters");

  build (2, 0);
  b.size = 103;
  assert_bad ("truncated");
}

static void
test_l1_size (void **state)
{
  (void) state;

  build (513, 0);               /* one L2 table maps 512 clusters */
  assert_bad ("L1 table");
  put32 (36, 2);
  assert_good ();
  put32 (36, 4194304);
  assert_good ();
  put32 (36, 4194305);
  assert_bad ("L1 table");
  build (2, 0);
  put64 (24, UINT64_MAX);
  assert_bad ("L1 table");
}

static void
test_names (void **state)
{
  struct error error;
  struct qcow2 qcow2;

  (void) state;

  build (2, 4);
  put64 (8, 3000);
  put32 (16, 4);
  memcpy (b.bytes + 3000, "base", 4);
  put32 (104, 0xe2792aca);      /* the backing format, padded to 8 bytes */
  put32 (108, 3);
  memcpy (b.bytes + 112, "raw", 3);
  put32 (120, 0x12345678);      /* an unknown extension is skipped */
  put32 (124, 9);
  put32 (144, 0x44415441);
  put32 (148, 6);
  memcpy (b.bytes + 152, "da\0xyz", 6);
  assert_int_equal (inspect (&qcow2, &error), 0);
  assert_true (qcow2.has_data_file);
  assert_string_equal (qcow2.backing, "base");
  assert_string_equal (qcow2.backing_format, "raw");
  assert_string_equal (qcow2.data_file, "da");

  put32 (108, 16);
  assert_bad ("format of the backing file is 16 bytes");
  put32 (108, 0xffffffff);
  assert_bad ("extension is too long");
  put32 (108, 3);
  put32 (124, 3000 - 128 + 1);  /* 1 byte into the backing file's name */
  assert_bad ("extension is too long");
  put32 (124, 9);
  put32 (16, 1024);
  assert_bad ("name of the backing file is 1024 bytes");
  put32 (16, 1097);
  assert_bad ("outside");
  put64 (8, 4097);
  assert_bad ("outside");
}

/* The number of bitmaps is limited as in qemu. */
static void
test_bitmaps (void **state)
{
  struct error error;
  struct qcow2 qcow2;

  (void) state;

  build (2, 0);
  put64 (88, 1);
  put32 (104, 0x23852875);
  put32 (108, 24);
  put32 (112, 65535);
  assert_int_equal (inspect (&qcow2, &error), 0);
  assert_int_equal (qcow2.nr_bitmaps, 65535);
  put32 (112, 65536);
  assert_bad ("65536 bitmaps");
  put64 (88, 0);                /* flag cleared: extension is ignored */
  assert_good ();
}

/* Version 2 has header extensions where version 3 has the features. */
static void
test_version_2 (void **state)
{
  (void) state;

  build (2, 0);
  put32 (4, 2);
  put32 (72, 0xe2792aca);
  put32 (76, 5);
  memcpy (b.bytes + 80, "qcow2", 5);
  put32 (100, 0);
  assert_good ();
}

static void
test_encrypted (void **state)
{
  struct error error;
  struct qcow2 qcow2;

  (void) state;

  build (2, 0);
  inspect (&qcow2, &error);
  assert_false (qcow2.encrypted);
  put32 (32, 1);
  inspect (&qcow2, &error);
  assert_true (qcow2.encrypted);
}

static void
test_tables (void **state)
{
  (void) state;

  build (2, 0);
  put64 (b.cluster, COPIED | b.size);
  assert_bad ("an L2 table");
  put64 (b.cluster, COPIED | UINT64_C (0x00fffffffffffe00));
  assert_bad ("an L2 table");
  put64 (b.cluster, 0);
  assert_good ();
  put64 (40, b.size);
  assert_bad ("the L1 table");
  put64 (40, UINT64_MAX - 511);
  assert_bad ("the L1 table");

  /* All L1 entries of a large disk refer to the same L2 table. */
  build (512 * 100, 0);
  put32 (36, 100);
  for (int i = 0; i < 100; i++)
    put64 (b.cluster + i * 8, 2 * b.cluster);
  assert_bad ("overlap");
}

static void
test_standard_clusters (void **state)
{
  (void) state;

  build (2, 0);
  put_l2 (0, COPIED | (3 * b.cluster));
  assert_good ();
  b.size--;
  assert_bad ("a data cluster");
  put_l2 (0, COPIED | (3 * b.cluster) | 1); /* reads as zeros */
  assert_good ();

  /* If the disk ends within a cluster, the file may end where the disk ends. */
  build (2, 0);
  put64 (24, b.cluster + 512);
  b.size = 3 * b.cluster + 512;
  put_l2 (1, COPIED | (3 * b.cluster));
  assert_good ();
  b.size--;
  assert_bad ("a data cluster");

  /* Entries after the end of the disk are not read. */
  put_l2 (1, 0);
  put_l2 (2, COPIED | (100 * b.cluster));
  assert_good ();
}

static void
test_subclusters (void **state)
{
  (void) state;

  build (2, 16);
  b.size = 3 * b.cluster + 512 * 3;
  put_l2 (0, COPIED | (3 * b.cluster));
  assert_good ();
  put_l2 (1, 0x5);              /* bitmap of entry 0: subclusters 0 and 2 */
  assert_good ();
  b.size--;
  assert_bad ("a data cluster");
  put_l2 (1, UINT64_C (0xfffffffa00000005)); /* other subclusters are zeros */
  assert_bad ("a data cluster");
  put_l2 (1, UINT64_C (0xffffffff00000000));
  assert_good ();
}

static void
test_compressed_clusters (void **state)
{
  /* With clusters of 4096 bytes the offset is in bits 0 to 57, and the number
   * of sectors after the first one in bits 58 to 61.
   */
  const uint64_t descriptor = COMPRESSED | (UINT64_C (2) << 58);

  (void) state;

  build (2, 0);
  put_l2 (0, descriptor | (3 * b.cluster + 100));
  b.size = 3 * b.cluster + 3 * 512;
  assert_good ();
  b.size--;
  assert_bad ("compressed cluster");
  b.size = 3 * b.cluster + 100;
  assert_bad ("a compressed cluster");
  put_l2 (0, descriptor | (UINT64_C (1) << 57));
  assert_bad ("a compressed cluster");
}

/* The header has the compression type, if the header is long enough. */
static void
test_compression_type (void **state)
{
  static const char frame[] = /* of zstd: 4096 times 'U' */
    "\x28\xb5\x2f\xfd\x60\x00\x0f\x03\x80\x00U";

  (void) state;

#if !defined HAVE_ZLIB || !defined HAVE_ZSTD
  skip ();
#endif
  build (2, 8);
  put32 (100, 112);
  b.bytes[104] = 1;
  put_l2 (0, COMPRESSED | (3 * b.cluster));
  b.size = 3 * b.cluster + sizeof frame - 1;
  memcpy (b.bytes + 3 * b.cluster, frame, sizeof frame - 1);
  assert_good ();
  b.size--;
  assert_bad ("not complete");
  b.size++;
  b.bytes[104] = 0;
  assert_bad ("not complete");
  b.bytes[104] = 1;
  put32 (100, 104);             /* now byte 104 begins an extension */
  put32 (104, 0x01234567);
  assert_bad ("not complete");
  put32 (100, 112);
  b.bytes[104] = 2;
  assert_bad ("(type 2)");
}

/* The data clusters are in another file, and may be at its offset 0. */
static void
test_data_file (void **state)
{
  FILE *f = tmpfile ();
  struct file opened, opened_data = { .data.fd = -1 };
  struct imagefile file = test_image (&opened, f, 4 * 4096);
  struct imagefile data = { .file = &opened_data, .size = 4096 };
  struct error error = { "" };
  struct qcow2_count count;
  struct qcow2 qcow2;

  (void) state;

  build (2, 4);
  put_l2 (0, COPIED);
  assert_int_equal (pwrite (fileno (f), b.bytes, b.size, 0), b.size);
  assert_int_equal (qcow2_read_header (&file, &qcow2, &error), 0);
  assert_int_equal (qcow2_check (&file, &data, &qcow2, &count, &error), 0);
  data.size--;
  assert_int_equal (qcow2_check (&file, &data, &qcow2, &count, &error), -1);
  fclose (f);
}

/* The image is in the middle of a file, as in a tar archive. */
static void
test_start (void **state)
{
  FILE *f = tmpfile ();
  struct error error = { "" };
  struct imagefile file;
  struct qcow2_count count;
  struct file opened;
  struct qcow2 qcow2;

  (void) state;

  build (1, 0);
  put_l2 (0, COPIED | 3 * b.cluster);
  file = test_image (&opened, f, b.size);
  file.start = 1000;
  assert_int_equal (pwrite (fileno (f), b.bytes, b.size, 1000), b.size);
  assert_int_equal (qcow2_read_header (&file, &qcow2, &error), 0);
  assert_int_equal (qcow2_check (&file, &file, &qcow2, &count, &error), 0);
  file.size--;
  assert_int_equal (qcow2_check (&file, &file, &qcow2, &count, &error), -1);
  fclose (f);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_header),
    cmocka_unit_test (test_l1_size),
    cmocka_unit_test (test_names),
    cmocka_unit_test (test_bitmaps),
    cmocka_unit_test (test_version_2),
    cmocka_unit_test (test_encrypted),
    cmocka_unit_test (test_tables),
    cmocka_unit_test (test_standard_clusters),
    cmocka_unit_test (test_subclusters),
    cmocka_unit_test (test_compressed_clusters),
    cmocka_unit_test (test_compression_type),
    cmocka_unit_test (test_data_file),
    cmocka_unit_test (test_start),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
