/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test of the comparison of two manifests: the reported ranges, misuse,
 * and which of the two readers has the error.  tests/lib/test-manifest.py
 * compares the manifests of random images.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
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
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
