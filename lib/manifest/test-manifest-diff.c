/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test of the comparison of two manifests: the ranges that a differ
 * returns and a callback receives, also of random images, misuse, and which of
 * the two readers has the error.  tests/lib/test-manifest.py compares the
 * manifests of random images with the reference.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash-manifest.h"
#include "manifest/manifest-reader.h"

#define BLOCK 65536
#define SIZE (10 * BLOCK + 100) /* 11 blocks */

static unsigned char image[SIZE];

/* ---- Manifests and reported ranges ---- */

static int
temporary (void)
{
  char name[] = "test-manifest-diff-XXXXXX";
  int fd = mkstemp (name);

  assert_int_not_equal (fd, -1);
  unlink (name);
  return fd;
}

/* Returns a reader of the manifest of the beginning of IMAGE, with the given
 * size.  If CUT is not 0, the manifest is truncated to CUT bytes.
 */
static struct blkhash_manifest_reader *
cut_manifest (uint64_t size, const struct blkhash_opts *opts, off_t cut)
{
  struct blkhash_leaves *l = blkhash_leaves_new (opts, size, 0);
  struct blkhash_manifest_reader *r;
  int fd = temporary ();

  assert_int_equal (blkhash_leaves_data (l, image, size, 0), 0);
  assert_int_equal (blkhash_leaves_save (l, fd, NULL, NULL), 0);
  blkhash_leaves_free (l);
  if (cut)
    assert_int_equal (ftruncate (fd, cut), 0);
  lseek (fd, 0, SEEK_SET);
  r = blkhash_manifest_reader_new (fd, 0, NULL, 0);
  assert_non_null (r);
  return r;
}

static struct blkhash_manifest_reader *
manifest (uint64_t size, const struct blkhash_opts *opts)
{
  return cut_manifest (size, opts, 0);
}

static void
close_manifest (struct blkhash_manifest_reader *r)
{
  close (r->input.fd);
  blkhash_manifest_reader_free (r);
}

struct found {
  unsigned calls;
  uint64_t start, len;          /* of the last range */
  int result;
};

static int
report (void *opaque, uint64_t start, uint64_t len)
{
  struct found *found = opaque;

  found->calls++;
  found->start = start;
  found->len = len;
  return found->result;
}

/* Open the manifests of two images that differ in every second block. */
static void
open_two (struct blkhash_manifest_reader **a,
          struct blkhash_manifest_reader **b)
{
  unsigned i;

  memset (image, 1, sizeof image);
  *a = manifest (SIZE, NULL);
  for (i = 1; i <= 10; i += 2)
    image[i * BLOCK] = 2;
  *b = manifest (SIZE, NULL);
}

static void
close_two (struct blkhash_manifest_reader *a,
           struct blkhash_manifest_reader *b)
{
  close_manifest (a);
  close_manifest (b);
}

static void
assert_reasons (struct blkhash_manifest_reader *a, const char *why_a,
                struct blkhash_manifest_reader *b, const char *why_b)
{
  assert_string_equal (blkhash_manifest_reader_error (a), why_a);
  assert_string_equal (blkhash_manifest_reader_error (b), why_b);
}

/* ---- Tests ---- */

static void
test_ranges (void **state)
{
  unsigned char md_a[BLKHASH_MAX_MD_SIZE], md_b[BLKHASH_MAX_MD_SIZE];
  struct blkhash_manifest_reader *a, *b;
  struct found found = { 0 };

  (void) state;
  open_two (&a, &b);
  assert_int_equal (blkhash_manifest_diff (a, b, report, &found), 0);
  assert_int_equal (found.calls, 5);
  assert_int_equal (found.start, 9 * BLOCK);
  assert_int_equal (found.len, BLOCK);
  /* Both readers have read all, so they have sums. */
  assert_int_equal (blkhash_manifest_reader_sum (a, md_a, NULL), 0);
  assert_int_equal (blkhash_manifest_reader_sum (b, md_b, NULL), 0);
  assert_memory_not_equal (md_a, md_b, 32);
  close_two (a, b);
}

/* An error of the callback ends the comparison, and no reader has an error.
 * The same holds for the last range, although it is reported only after both
 * manifests have ended.
 */
static void
test_stopped (void **state)
{
  struct blkhash_manifest_reader *a, *b;
  struct found found = { .result = ECANCELED };

  (void) state;
  open_two (&a, &b);
  assert_int_equal (blkhash_manifest_diff (a, b, report, &found), ECANCELED);
  assert_int_equal (found.calls, 1);
  assert_int_equal (found.start, BLOCK);
  assert_int_equal (found.len, BLOCK);
  assert_reasons (a, "", b, "");
  close_two (a, b);

  memset (image, 1, sizeof image);
  a = manifest (SIZE, NULL);
  image[SIZE - 1] = 2;
  b = manifest (SIZE, NULL);
  found.calls = 0;
  assert_int_equal (blkhash_manifest_diff (a, b, report, &found), ECANCELED);
  assert_int_equal (found.calls, 1);
  assert_int_equal (found.start, 10 * BLOCK);
  assert_int_equal (found.len, 100);
  assert_reasons (a, "", b, "");
  close_two (a, b);
}

static void
assert_einval (struct blkhash_manifest_reader *a,
               struct blkhash_manifest_reader *b)
{
  struct found found = { 0 };

  assert_int_equal (blkhash_manifest_diff (a, b, report, &found), EINVAL);
  assert_int_equal (blkhash_manifest_diff (b, a, report, &found), EINVAL);
  assert_int_equal (found.calls, 0);
  assert_int_not_equal (blkhash_manifest_reader_error (a)[0], '\0');
  assert_string_equal (blkhash_manifest_reader_error (a),
                       blkhash_manifest_reader_error (b));
}

static void
test_misused (void **state)
{
  struct blkhash_manifest_reader *a, *b;
  struct blkhash_manifest_run run;
  struct found found = { 0 };

  (void) state;
  open_two (&a, &b);
  assert_einval (a, a);
  /* Nothing was read after the headers, so A and B can still be compared. */
  assert_int_equal (blkhash_manifest_diff (a, b, report, &found), 0);
  assert_int_equal (found.calls, 5);
  assert_einval (a, b);
  close_two (a, b);

  open_two (&a, &b);
  assert_int_equal (blkhash_manifest_reader_next (b, &run), 0);
  assert_einval (a, b);
  close_two (a, b);
}

/* The digest and the block size must be equal; the constructions can differ. */
static void
test_different_params (void **state)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  struct blkhash_manifest_reader *a, *b;
  struct found found = { 0 };

  (void) state;
  memset (image, 1, sizeof image);
  a = manifest (SIZE, NULL);
  blkhash_opts_set_block_size (opts, BLOCK / 2);
  b = manifest (SIZE, opts);
  assert_einval (a, b);
  close_manifest (b);
  blkhash_opts_set_block_size (opts, BLOCK);
  blkhash_opts_set_linear (opts, 1);
  b = manifest (SIZE, opts);
  assert_int_equal (blkhash_manifest_diff (a, b, report, &found), 0);
  assert_int_equal (found.calls, 0);
  close_two (a, b);
  blkhash_opts_free (opts);

  opts = blkhash_opts_new ("sha3-256");
  a = manifest (SIZE, NULL);
  b = manifest (SIZE, opts);
  assert_einval (a, b);
  close_two (a, b);
  blkhash_opts_free (opts);
}

/* Only the reader of the truncated manifest has an error. */
static void
test_blame (void **state)
{
  struct blkhash_manifest_reader *a, *b;
  struct found found = { 0 };

  (void) state;
  memset (image, 1, sizeof image);
  a = manifest (SIZE, NULL);
  b = cut_manifest (SIZE, NULL, 700);
  assert_int_equal (blkhash_manifest_diff (a, b, report, &found), EBADMSG);
  assert_reasons (a, "", b, "the manifest is cut off");
  close_two (a, b);

  a = cut_manifest (SIZE, NULL, 700);
  b = manifest (SIZE, NULL);
  assert_int_equal (blkhash_manifest_diff (a, b, report, &found), EBADMSG);
  assert_reasons (a, "the manifest is cut off", b, "");
  close_two (a, b);
  assert_int_equal (found.calls, 0);
}

/* The smaller image ends within a block.  If both images have data in this
 * block, it cannot be compared.  The blocks after it are compared with zeros.
 */
static void
test_tail (void **state)
{
  struct blkhash_manifest_reader *a, *b;
  struct found found = { 0 };

  (void) state;
  memset (image, 0, sizeof image);
  image[0] = image[3 * BLOCK] = image[7 * BLOCK] = 1;
  a = manifest (3 * BLOCK + 1, NULL);
  image[0] = 2;
  b = manifest (SIZE, NULL);
  assert_int_equal (blkhash_manifest_diff (a, b, report, &found), ENODATA);
  assert_int_equal (found.calls, 2);
  assert_int_equal (found.start, 7 * BLOCK);
  assert_string_equal (blkhash_manifest_reader_error (a),
                       blkhash_manifest_reader_error (b));
  close_two (a, b);

  image[3 * BLOCK] = 0;
  a = manifest (3 * BLOCK + 1, NULL);
  image[3 * BLOCK + 1] = 1;
  b = manifest (SIZE, NULL);
  found.calls = 0;
  assert_int_equal (blkhash_manifest_diff (a, b, report, &found), 0);
  assert_int_equal (found.calls, 2);
  close_two (a, b);
}

/* ---- The differ ---- */

static void
test_differ (void **state)
{
  struct blkhash_manifest_reader *a, *b;
  struct blkhash_manifest_differ *d;
  uint64_t start, len;

  (void) state;
  open_two (&a, &b);
  d = blkhash_manifest_differ_new (a, b);
  assert_non_null (d);
  for (unsigned i = 1; i <= 10; i += 2) {
    assert_int_equal (blkhash_manifest_differ_next (d, &start, &len), 0);
    assert_int_equal (start, i * BLOCK);
    assert_int_equal (len, BLOCK);
  }
  start = len = 77;
  for (int i = 0; i < 2; i++)
    assert_int_equal (blkhash_manifest_differ_next (d, &start, &len), ENOENT);
  assert_int_equal (start, 77);
  assert_int_equal (len, 77);
  close_two (a, b);             /* the readers can be freed first */
  errno = 7;
  blkhash_manifest_differ_free (d);
  blkhash_manifest_differ_free (NULL);
  assert_int_equal (errno, 7);
}

static void
test_differ_errors (void **state)
{
  struct blkhash_manifest_reader *a, *b;
  struct blkhash_manifest_differ *d;
  uint64_t start, len;

  (void) state;
  open_two (&a, &b);
  errno = 0;
  assert_null (blkhash_manifest_differ_new (a, a));
  assert_int_equal (errno, EINVAL);
  assert_int_not_equal (blkhash_manifest_reader_error (a)[0], '\0');
  /* Nothing was read, so they can still be compared. */
  d = blkhash_manifest_differ_new (a, b);
  assert_non_null (d);
  assert_int_equal (blkhash_manifest_differ_next (d, &start, &len), 0);
  blkhash_manifest_differ_free (d);
  errno = 0;
  assert_null (blkhash_manifest_differ_new (a, b)); /* they have been read */
  assert_int_equal (errno, EINVAL);
  close_two (a, b);

  /* Errors are sticky, and only the reader that failed has a reason. */
  memset (image, 1, sizeof image);
  a = manifest (SIZE, NULL);
  b = cut_manifest (SIZE, NULL, 700);
  d = blkhash_manifest_differ_new (a, b);
  for (int i = 0; i < 2; i++) {
    assert_int_equal (blkhash_manifest_differ_next (d, &start, &len), EBADMSG);
    assert_reasons (a, "", b, "the manifest is cut off");
  }
  blkhash_manifest_differ_free (d);
  close_two (a, b);

  /* The smaller image ends within a block of data. */
  a = manifest (3 * BLOCK + 1, NULL);
  image[0] = 2;
  b = manifest (SIZE, NULL);
  d = blkhash_manifest_differ_new (a, b);
  assert_int_equal (blkhash_manifest_differ_next (d, &start, &len), 0);
  assert_int_equal (start, 0);
  assert_int_equal (blkhash_manifest_differ_next (d, &start, &len), 0);
  assert_int_equal (start, 4 * BLOCK);
  assert_int_equal (len, SIZE - 4 * BLOCK);
  for (int i = 0; i < 2; i++)
    assert_int_equal (blkhash_manifest_differ_next (d, &start, &len), ENODATA);
  assert_string_equal (blkhash_manifest_reader_error (a),
                       blkhash_manifest_reader_error (b));
  blkhash_manifest_differ_free (d);
  close_two (a, b);
}

/* ---- Random images ---- */

#define SMALL 512               /* bytes of a block */
#define MAX_BLOCKS 200
#define MAX_RANGES (MAX_BLOCKS + 1)

struct range {
  uint64_t start, len;
};

struct ranges {
  struct range ranges[MAX_RANGES];
  size_t count;
};

static unsigned char images[2][MAX_BLOCKS * SMALL];
static uint64_t sizes[2];       /* bytes; the rest of an image is zeros */

static int
append (void *opaque, uint64_t start, uint64_t len)
{
  struct ranges *ranges = opaque;

  assert_true (ranges->count < MAX_RANGES);
  ranges->ranges[ranges->count++] = (struct range) { start, len };
  return 0;
}

/* Fill an image with runs of zeros and of data, and change some blocks of the
 * other one, or all.
 */
static void
make_images (unsigned *seed)
{
  unsigned kind = 0, change = 1 + rand_r (seed) % 20;

  for (int i = 0; i < 2; i++)
    sizes[i] = rand_r (seed) % 2 ? sizeof images[0]
                                 : rand_r (seed) % (sizeof images[0] + 1);
  if (rand_r (seed) % 3 == 0)
    sizes[1] = sizes[0];
  for (size_t at = 0; at < sizeof images[0]; at += SMALL) {
    if (rand_r (seed) % 7 == 0)
      kind = rand_r (seed) % 3;
    memset (images[0] + at, kind, SMALL);
    memcpy (images[1] + at, images[0] + at, SMALL);
    if (rand_r (seed) % change == 0)
      images[1][at + rand_r (seed) % SMALL] ^= rand_r (seed) % 3;
  }
  for (int i = 0; i < 2; i++)
    memset (images[i] + sizes[i], 0, sizeof images[i] - sizes[i]);
}

static struct blkhash_manifest_reader *
random_manifest (const struct blkhash_opts *opts, int i)
{
  struct blkhash_leaves *l = blkhash_leaves_new (opts, sizes[i], 0);
  struct blkhash_manifest_reader *r;
  int fd = temporary ();

  assert_int_equal (blkhash_leaves_data (l, images[i], sizes[i], 0), 0);
  assert_int_equal (blkhash_leaves_save (l, fd, NULL, NULL), 0);
  blkhash_leaves_free (l);
  lseek (fd, 0, SEEK_SET);
  r = blkhash_manifest_reader_new (fd, 0, NULL, 0);
  assert_non_null (r);
  return r;
}

static bool
block_is_zero (int i, uint64_t start, uint64_t len)
{
  static const unsigned char zeros[SMALL];

  return memcmp (images[i] + start, zeros, len) == 0;
}

/* The ranges, by the bytes of the images, and the result of a differ. */
static int
reference (struct ranges *ranges)
{
  uint64_t smaller = sizes[0] < sizes[1] ? sizes[0] : sizes[1];
  uint64_t larger = sizes[0] + sizes[1] - smaller;
  int result = ENOENT;

  ranges->count = 0;
  for (uint64_t start = 0; start < larger; start += SMALL) {
    uint64_t len = larger - start < SMALL ? larger - start : SMALL;
    struct range *last = ranges->count > 0
      ? &ranges->ranges[ranges->count - 1] : NULL;

    if (start < smaller && smaller - start < len &&
        !block_is_zero (0, start, len) && !block_is_zero (1, start, len))
      result = ENODATA;
    else if (memcmp (images[0] + start, images[1] + start, len) == 0)
      continue;
    else if (last && last->start + last->len == start)
      last->len += len;
    else
      append (ranges, start, len);
  }
  return result;
}

/* The differ and the callback give the ranges in which the bytes differ. */
static void
test_random (void **state)
{
  static struct ranges expected, pulled, pushed;
  struct blkhash_opts *opts = blkhash_opts_from_spec ("sha256/512");
  unsigned seed = 1, open = 0, equal = 0;

  (void) state;
  for (int round = 0; round < 1000; round++) {
    struct blkhash_manifest_reader *a, *b;
    struct blkhash_manifest_differ *d;
    uint64_t start, len;
    int err, result;

    make_images (&seed);
    result = reference (&expected);
    open += result == ENODATA;
    equal += expected.count == 0;

    a = random_manifest (opts, 0);
    b = random_manifest (opts, 1);
    d = blkhash_manifest_differ_new (a, b);
    assert_non_null (d);
    pulled.count = 0;
    while ((err = blkhash_manifest_differ_next (d, &start, &len)) == 0)
      append (&pulled, start, len);
    assert_int_equal (err, result);
    assert_int_equal (pulled.count, expected.count);
    assert_memory_equal (pulled.ranges, expected.ranges,
                         expected.count * sizeof expected.ranges[0]);
    blkhash_manifest_differ_free (d);
    close_two (a, b);

    a = random_manifest (opts, 0);
    b = random_manifest (opts, 1);
    pushed.count = 0;
    err = blkhash_manifest_diff (a, b, append, &pushed);
    assert_int_equal (err ? err : ENOENT, result);
    assert_int_equal (pushed.count, expected.count);
    assert_memory_equal (pushed.ranges, expected.ranges,
                         expected.count * sizeof expected.ranges[0]);
    close_two (a, b);
  }
  assert_true (open > 10 && equal > 10);
  blkhash_opts_free (opts);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_ranges),
    cmocka_unit_test (test_stopped),
    cmocka_unit_test (test_misused),
    cmocka_unit_test (test_different_params),
    cmocka_unit_test (test_blame),
    cmocka_unit_test (test_tail),
    cmocka_unit_test (test_differ),
    cmocka_unit_test (test_differ_errors),
    cmocka_unit_test (test_random),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
