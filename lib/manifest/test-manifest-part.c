/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: manifests of parts of an image are written, with a plan or
 * without, and merged, and misuse is an error.  tests/lib/test-manifest.py
 * compares manifests with the reference.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash-manifest.h"
#include "manifest/manifest.h"

#define BLOCK 65536
#define BLOCKS 6
#define SIZE (5 * BLOCK + 100)  /* bytes; see make_image */
#define LEAF 32

static unsigned char image[SIZE];

static int
temporary (void)
{
  char name[] = "test-manifest-part-XXXXXX";
  int fd = mkstemp (name);

  assert_int_not_equal (fd, -1);
  unlink (name);
  return fd;
}

/* Blocks 2 and 3 are zeros, all others are data. */
static void
make_image (void)
{
  size_t i;

  for (i = 0; i < SIZE; i++)
    image[i] = i / BLOCK == 2 || i / BLOCK == 3 ? 0 : 1 + i / BLOCK;
}

/* ---- Writing ---- */

/* Returns a file with a manifest of the COUNT blocks from FIRST on.  All other
 * blocks of the leaf table are zeros.
 */
static int
write_part (uint64_t first, uint64_t count)
{
  uint64_t start = first * BLOCK, end = (first + count) * BLOCK;
  struct blkhash_leaves *l =
    blkhash_leaves_new (NULL, SIZE,
                        BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM);
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new_part (NULL, SIZE, first, count, fd);
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);

  start = start < SIZE ? start : SIZE;
  end = end < SIZE ? end : SIZE;
  assert_int_equal (blkhash_leaves_set_sink (l, &sink), 0);
  assert_int_equal (blkhash_leaves_zero (l, start, 0), 0);
  assert_int_equal (blkhash_leaves_zero (l, SIZE - end, end), 0);
  assert_int_equal (blkhash_leaves_data (l, image + start, end - start, start),
                    0);
  assert_int_equal (blkhash_leaves_fold (l, NULL, NULL), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, SIZE, NULL, NULL), 0);
  blkhash_manifest_writer_free (w);
  blkhash_leaves_free (l);
  lseek (fd, 0, SEEK_SET);
  return fd;
}

static struct blkhash_manifest_reader *
start_reader (int fd)
{
  struct blkhash_manifest_reader *r =
    blkhash_manifest_reader_new (fd, 0, NULL, 0);

  assert_non_null (r);
  return r;
}

/* Store in LEAVES the leaf of each block of data in the manifest, and zero
 * bytes for each block of zeros.
 */
static void
read_blocks (int fd, unsigned char leaves[BLOCKS][LEAF])
{
  struct blkhash_manifest_reader *r = start_reader (fd);
  struct blkhash_manifest_run run;
  uint64_t i;
  int err;

  while ((err = blkhash_manifest_reader_next (r, &run)) == 0)
    for (i = 0; i < run.count; i++) {
      unsigned char *leaf = leaves[run.first + i];

      if (run.leaves)
        memcpy (leaf, run.leaves + i * LEAF, LEAF);
      else
        memset (leaf, 0, LEAF);
    }
  assert_int_equal (err, ENOENT);
  blkhash_manifest_reader_free (r);
  lseek (fd, 0, SEEK_SET);
}

static int
write_whole (void)
{
  struct blkhash_leaves *l = blkhash_leaves_new (NULL, SIZE, 0);
  int fd = temporary ();

  assert_int_equal (blkhash_leaves_data (l, image, SIZE, 0), 0);
  assert_int_equal (blkhash_leaves_save (l, fd, NULL, NULL), 0);
  blkhash_leaves_free (l);
  lseek (fd, 0, SEEK_SET);
  return fd;
}

/* Every part, even an empty one, has the leaves that the whole manifest has for
 * the same blocks.
 */
static void
test_parts (void **state)
{
  unsigned char expected[BLOCKS][LEAF], got[BLOCKS][LEAF];
  int fd = write_whole ();
  uint64_t first, count;

  (void) state;
  read_blocks (fd, expected);
  close (fd);
  for (first = 0; first <= BLOCKS; first++)
    for (count = 0; count <= BLOCKS - first; count++) {
      if (count == BLOCKS)
        continue;
      memcpy (got, expected, sizeof got);
      memset (got[first < BLOCKS ? first : 0], 1, count * LEAF);
      fd = write_part (first, count);
      read_blocks (fd, got);
      assert_memory_equal (got, expected, sizeof got);
      close (fd);
    }
}

/* A "part" with all blocks of the image has a sum, unlike other parts. */
static void
test_whole_part (void **state)
{
  struct blkhash_leaves *l =
    blkhash_leaves_new (NULL, SIZE, BLKHASH_LEAVES_ONCE);
  unsigned char md[BLKHASH_MAX_MD_SIZE], sum[BLKHASH_MAX_MD_SIZE];
  unsigned char written[4096], expected[4096];
  int fd = temporary (), whole = write_whole ();
  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new_part (NULL, SIZE, 0, BLOCKS, fd);
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);
  ssize_t n;
  unsigned len;

  (void) state;
  assert_int_equal (blkhash_leaves_set_sink (l, &sink), 0);
  assert_int_equal (blkhash_leaves_data (l, image, SIZE, 0), 0);
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, SIZE, sum, &len), 0);
  assert_int_equal (len, LEAF);
  assert_memory_equal (sum, md, LEAF);
  n = pread (whole, expected, sizeof expected, 0);
  assert_int_equal (pread (fd, written, sizeof written, 0), n);
  assert_memory_equal (written, expected, n);
  blkhash_manifest_writer_free (w);
  blkhash_leaves_free (l);
  close (whole);
  close (fd);
}

/* Blocks outside the part are ignored.  Those of the part must be in order. */
static void
test_writer_misused (void **state)
{
  unsigned char leaves[4 * LEAF] = { 1 }, md[BLKHASH_MAX_MD_SIZE];
  unsigned len = 77;
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new_part (NULL, SIZE, 2, 2, fd);
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);

  (void) state;
  assert_int_equal (sink.data (sink.opaque, 0, 2, leaves, LEAF), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, SIZE, NULL, NULL),
                    EINVAL);
  assert_int_equal (sink.data (sink.opaque, 1, 2, leaves, LEAF), 0);
  assert_int_equal (sink.zero (sink.opaque, 3, 1), 0);
  assert_int_equal (sink.zero (sink.opaque, 4, 1), 0);
  assert_int_equal (sink.data (sink.opaque, 5, 1, leaves, LEAF), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, SIZE - 1, NULL, NULL),
                    EINVAL);
  assert_int_equal (blkhash_manifest_writer_finish (w, SIZE, md, &len), 0);
  assert_int_equal (len, 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, SIZE, NULL, NULL),
                    EINVAL);
  blkhash_manifest_writer_free (w);

  /* A block of the part is skipped: the error is sticky. */
  w = blkhash_manifest_writer_new_part (NULL, SIZE, 2, 2, fd);
  sink = blkhash_manifest_writer_sink (w);
  assert_int_equal (sink.zero (sink.opaque, 0, 2), 0);
  assert_int_equal (sink.zero (sink.opaque, 3, 1), EINVAL);
  assert_int_equal (sink.zero (sink.opaque, 2, 1), EINVAL);
  assert_int_equal (blkhash_manifest_writer_finish (w, SIZE, NULL, NULL),
                    EINVAL);
  blkhash_manifest_writer_free (w);
  close (fd);
}

/* Adjacent runs of zeros, as a leaf table with BLKHASH_LEAVES_NO_SUM passes
 * them to its sink, become one record.
 */
static void
test_zeros_in_parts (void **state)
{
  unsigned char leaf[LEAF] = { 1 };
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new_part (NULL, SIZE, 1, 4, fd);
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);
  struct blkhash_manifest_reader *r;
  struct blkhash_manifest_run run;

  (void) state;
  assert_int_equal (sink.zero (sink.opaque, 0, 2), 0);
  assert_int_equal (sink.zero (sink.opaque, 2, 1), 0);
  assert_int_equal (sink.data (sink.opaque, 3, 1, leaf, LEAF), 0);
  assert_int_equal (sink.zero (sink.opaque, 4, 1), 0);
  assert_int_equal (sink.zero (sink.opaque, 5, 1), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, SIZE, NULL, NULL), 0);
  blkhash_manifest_writer_free (w);
  lseek (fd, 0, SEEK_SET);
  r = start_reader (fd);
  assert_int_equal (blkhash_manifest_reader_next (r, &run), 0);
  assert_null (run.leaves);
  assert_int_equal (run.count, 2);
  assert_int_equal (blkhash_manifest_reader_next (r, &run), 0);
  assert_int_equal (blkhash_manifest_reader_next (r, &run), 0);
  assert_null (run.leaves);
  assert_int_equal (run.count, 1);
  assert_int_equal (blkhash_manifest_reader_next (r, &run), ENOENT);
  blkhash_manifest_reader_free (r);
  close (fd);
}

static void
test_no_such_part (void **state)
{
  static const struct {
    uint64_t size, first, count;
  } wrong[] = {
    { SIZE, BLOCKS + 1, 0 }, { SIZE, 0, BLOCKS + 1 }, { SIZE, BLOCKS, 1 },
    { SIZE, UINT64_MAX, 1 }, { SIZE, 1, UINT64_MAX },
    { BLKHASH_SIZE_UNKNOWN, 0, 1 },
  };
  int fd = temporary ();
  size_t i;

  (void) state;
  for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    errno = 0;
    assert_null (blkhash_manifest_writer_new_part (NULL, wrong[i].size,
                                                   wrong[i].first,
                                                   wrong[i].count, fd));
    assert_int_equal (errno, EINVAL);
  }
  assert_int_equal (lseek (fd, 0, SEEK_END), 0);
  close (fd);
}

/* ---- Merging ---- */

static void
put_part (struct blkhash_leaves *l, int fd)
{
  struct blkhash_manifest_reader *r = start_reader (fd);
  struct blkhash_manifest_run run;
  int err;

  while ((err = blkhash_manifest_reader_next (r, &run)) == 0)
    assert_int_equal (blkhash_leaves_put_run (l, &run), 0);
  assert_int_equal (err, ENOENT);
  blkhash_manifest_reader_free (r);
  close (fd);
}

/* Write to FD the manifest that is merged from three parts, which begin at the
 * blocks 0, A and B.
 */
static void
merge (uint64_t a, uint64_t b, bool reverse, int fd)
{
  struct blkhash_leaves *l =
    blkhash_leaves_new (NULL, SIZE,
                        BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM);
  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new (NULL, SIZE, fd);
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);

  assert_int_equal (blkhash_leaves_set_sink (l, &sink), 0);
  if (reverse)
    put_part (l, write_part (b, BLOCKS - b));
  put_part (l, write_part (a, b - a));
  put_part (l, write_part (0, a));
  if (!reverse)
    put_part (l, write_part (b, BLOCKS - b));
  assert_int_equal (blkhash_leaves_fold (l, NULL, NULL), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, SIZE, NULL, NULL), 0);
  blkhash_manifest_writer_free (w);
  blkhash_leaves_free (l);
}

/* The parts begin anywhere, even within a run of zeros. */
static void
test_merge (void **state)
{
  unsigned char expected[4096], got[4096];
  int whole = write_whole (), fd;
  ssize_t size = pread (whole, expected, sizeof expected, 0);
  uint64_t a, b;

  (void) state;
  assert_true (size >= 512 && size < (ssize_t) sizeof expected);
  for (a = 0; a < BLOCKS; a++)
    for (b = a > 0 ? a : 1; b < BLOCKS; b++) {
      fd = temporary ();
      merge (a, b, (a + b) % 2, fd);
      assert_int_equal (pread (fd, got, sizeof got, 0), size);
      assert_memory_equal (got, expected, size);
      close (fd);
    }
  close (whole);
}

/* In a table without BLKHASH_LEAVES_ONCE, leaves and content can replace each
 * other.
 */
static void
test_put_over (void **state)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE], expected[BLKHASH_MAX_MD_SIZE];
  struct blkhash_leaves *l = blkhash_leaves_new (NULL, SIZE, 0);
  const struct blkhash_manifest_run zeros = { .count = BLOCKS };

  (void) state;
  assert_int_equal (blkhash_leaves_data (l, image, SIZE, 0), 0);
  assert_int_equal (blkhash_leaves_fold (l, expected, NULL), 0);
  assert_int_equal (blkhash_leaves_data (l, image, 100, 0), 0);
  assert_int_equal (blkhash_leaves_put_run (l, &zeros), 0);
  put_part (l, write_part (0, 2));
  put_part (l, write_part (4, 2));
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
  assert_memory_equal (md, expected, LEAF);
  blkhash_leaves_free (l);
}

static void
test_put_misused (void **state)
{
  unsigned char leaves[LEAF] = { 1 };
  const struct blkhash_manifest_run one = {
    .count = 1, .leaves = leaves, .leaf_size = LEAF
  };
  const struct blkhash_manifest_run wrong[] = {
    { .first = BLOCKS, .count = 1 }, { .first = BLOCKS + 1 },
    { .first = 1, .count = BLOCKS }, { .first = UINT64_MAX, .count = 1 },
    { .first = 1, .count = UINT64_MAX },
    { .count = 1, .leaves = leaves, .leaf_size = LEAF - 1 },
    { .count = 1, .leaves = leaves, .leaf_size = 2 * LEAF },
    { .count = 1, .reserved = { [3] = 1 } },
  };
  struct blkhash_leaves *l =
    blkhash_leaves_new (NULL, SIZE, BLKHASH_LEAVES_ONCE);
  size_t i;

  (void) state;
  for (i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    assert_int_equal (blkhash_leaves_put_run (l, &wrong[i]), EINVAL);
  assert_int_equal (blkhash_leaves_put_run (l, &one), 0);
  assert_int_equal (blkhash_leaves_put_run (l, &one), EEXIST);
  assert_int_equal (blkhash_leaves_data (l, image, 1, 0), EEXIST);
  assert_int_equal (blkhash_leaves_fold (l, leaves, NULL), ENODATA);
  blkhash_leaves_free (l);
  l = blkhash_leaves_new (NULL, BLKHASH_SIZE_UNKNOWN, 0);
  assert_int_equal (blkhash_leaves_put_run (l, &one), EINVAL);
  blkhash_leaves_free (l);
}

/* ---- Leaves of zeros ---- */

/* The SHA-256 of a block, and of 100 bytes, of zeros, by Python's hashlib. */
static const unsigned char full_zeros[LEAF] = {
  0xde, 0x2f, 0x25, 0x60, 0x64, 0xa0, 0xaf, 0x79,
  0x77, 0x47, 0xc2, 0xb9, 0x75, 0x05, 0xdc, 0x0b,
  0x9f, 0x3d, 0xf0, 0xde, 0x4f, 0x48, 0x9e, 0xac,
  0x73, 0x1c, 0x23, 0xae, 0x9c, 0xa9, 0xcc, 0x31
};
static const unsigned char short_zeros[LEAF] = {
  0xcd, 0x00, 0xe2, 0x92, 0xc5, 0x97, 0x0d, 0x3c,
  0x5e, 0x2f, 0x0f, 0xfa, 0x51, 0x71, 0xe5, 0x55,
  0xbc, 0x46, 0xbf, 0xc4, 0xfa, 0xdd, 0xfb, 0x4a,
  0x41, 0x8b, 0x68, 0x40, 0xb8, 0x6e, 0x79, 0xa3
};

/* Put the leaves of the image, STEP blocks at a time, from the first to the
 * last or in reverse.
 */
static void
put_leaves (struct blkhash_leaves *l, unsigned char leaves[BLOCKS][LEAF],
            size_t step, bool reverse)
{
  for (size_t i = 0; i < BLOCKS; i += step) {
    size_t first = reverse ? BLOCKS - step - i : i;
    struct blkhash_manifest_run run = {
      .first = first, .count = step, .leaves = leaves[first],
      .leaf_size = LEAF
    };

    assert_int_equal (blkhash_leaves_put_run (l, &run), 0);
  }
}

/* Write the manifest of the image, whose leaves are put in a table with FLAGS,
 * and store the sum in MD.
 */
static int
write_leaves (unsigned char leaves[BLOCKS][LEAF], size_t step, bool reverse,
              unsigned flags, unsigned char *md)
{
  struct blkhash_leaves *l = blkhash_leaves_new (NULL, SIZE, flags);
  uint64_t data, zero;
  int fd = temporary ();

  if (flags) {
    struct blkhash_manifest_writer *w =
      blkhash_manifest_writer_new (NULL, SIZE, fd);
    struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);

    assert_int_equal (blkhash_leaves_set_sink (l, &sink), 0);
    put_leaves (l, leaves, step, reverse);
    assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
    assert_int_equal (blkhash_manifest_writer_finish (w, SIZE, md, NULL), 0);
    blkhash_manifest_writer_free (w);
  }
  else {
    put_leaves (l, leaves, step, reverse);
    assert_int_equal (blkhash_leaves_save (l, fd, md, NULL), 0);
  }
  blkhash_leaves_count (l, &data, &zero);
  assert_int_equal (data, 3 * BLOCK);
  assert_int_equal (zero, 2 * BLOCK + 100);
  blkhash_leaves_free (l);
  lseek (fd, 0, SEEK_SET);
  return fd;
}

/* A leaf of zeros is stored as zeros, wherever it is in a run, also that of the
 * short last block.  So the manifest is the one of the content.
 */
static void
test_put_leaves_of_zeros (void **state)
{
  static const unsigned flags[] = {
    0, BLKHASH_LEAVES_ONCE, BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM
  };
  unsigned char leaves[BLOCKS][LEAF], md[BLKHASH_MAX_MD_SIZE];
  char expected[4096], got[4096];
  int whole;
  ssize_t size;

  (void) state;
  memset (image + 5 * BLOCK, 0, 100);
  whole = write_whole ();
  size = pread (whole, expected, sizeof expected, 0);
  read_blocks (whole, leaves);
  for (size_t i = 2; i < BLOCKS; i++)
    if (i != 4)
      memcpy (leaves[i], i == 5 ? short_zeros : full_zeros, LEAF);
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
    for (size_t step = 1; step <= BLOCKS; step++)
      for (int reverse = 0; reverse < 2 && BLOCKS % step == 0; reverse++) {
        int fd = write_leaves (leaves, step, reverse, flags[i], md);

        assert_int_equal (read (fd, got, sizeof got), size);
        assert_memory_equal (got, expected, size);
        /* The sum is the last but the tail of 8 bytes. */
        assert_memory_equal (md, expected + size - 8 - LEAF, LEAF);
        close (fd);
      }
  close (whole);
  make_image ();
}

/* In another place the leaf of the short last block is data, and so is that of
 * a full block in its place: no block of that length has it.
 */
static void
test_put_leaves_of_other_zeros (void **state)
{
  unsigned char leaves[BLOCKS][LEAF];
  struct blkhash_leaves *l = blkhash_leaves_new (NULL, SIZE, 0);
  uint64_t data, zero;

  (void) state;
  for (size_t i = 0; i < BLOCKS; i++)
    memcpy (leaves[i], i == 5 ? full_zeros : short_zeros, LEAF);
  put_leaves (l, leaves, BLOCKS, false);
  blkhash_leaves_count (l, &data, &zero);
  assert_int_equal (data, SIZE);
  assert_int_equal (zero, 0);
  blkhash_leaves_free (l);
}

/* With a digest that is not cryptographic, data can have the leaf of zeros, so
 * such a leaf remains data, as in a manifest; and "null" has only one leaf, of
 * 0 bytes.  The XXH64 of a block of zeros is by tests/reference.py.
 */
static void
test_put_leaves_not_unique (void **state)
{
  static const char *const digests[] = { "xxh64", "null" };
  static const unsigned char zeros[BLOCK];

  (void) state;
  for (size_t i = 0; i < sizeof digests / sizeof digests[0]; i++) {
    struct blkhash_opts *opts = blkhash_opts_new (digests[i]);
    static const unsigned char leaf[8] = {
      0x59, 0x83, 0xdd, 0xa9, 0xf1, 0x57, 0x15, 0xa4
    };
    struct blkhash_manifest_run run = {
      .count = 1, .leaves = leaf, .leaf_size = i == 0 ? sizeof leaf : 0
    };
    unsigned char md[BLKHASH_MAX_MD_SIZE], expected[BLKHASH_MAX_MD_SIZE];
    struct blkhash_leaves *l;
    uint64_t data, zero;

    if (!opts)                  /* built without xxhash */
      continue;
    l = blkhash_leaves_new (opts, BLOCK, 0);
    assert_int_equal (blkhash_leaves_put_run (l, &run), 0);
    blkhash_leaves_count (l, &data, &zero);
    assert_int_equal (data, BLOCK);
    assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
    assert_int_equal (blkhash_leaves_data (l, zeros, BLOCK, 0), 0);
    blkhash_leaves_count (l, &data, &zero);
    assert_int_equal (zero, BLOCK);
    assert_int_equal (blkhash_leaves_fold (l, expected, NULL), 0);
    assert_memory_equal (md, expected, run.leaf_size);
    blkhash_leaves_free (l);
    blkhash_opts_free (opts);
  }
}

/* ---- The plan ---- */

static const char plan_id[] = "0123456789abcdef0123456789abcdef"
                              "0123456789abcdef0123456789abcdef";

/* Write the manifest of the last two blocks, with PLAN unless it is NULL. */
static int
write_with_plan (const char *plan)
{
  const unsigned char leaves[2 * LEAF] = { 1 };
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new_part (NULL, SIZE, BLOCKS - 2, 2, fd);
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);

  if (plan)
    assert_int_equal (manifest_writer_set_plan (w, plan), 0);
  assert_int_equal (lseek (fd, 0, SEEK_END), 0);
  assert_int_equal (sink.data (w, BLOCKS - 2, 2, leaves, LEAF), 0);
  assert_int_equal (manifest_writer_set_plan (w, plan_id), EINVAL);
  assert_int_equal (blkhash_manifest_writer_finish (w, SIZE, NULL, NULL), 0);
  blkhash_manifest_writer_free (w);
  lseek (fd, 0, SEEK_SET);
  return fd;
}

static void
check_plan (int fd, const char *plan)
{
  struct blkhash_manifest_reader *r = start_reader (fd);
  struct blkhash_manifest_run run;

  assert_string_equal (manifest_reader_plan (r), plan);
  assert_int_equal (blkhash_manifest_reader_next (r, &run), 0);
  assert_int_equal (blkhash_manifest_reader_next (r, &run), ENOENT);
  blkhash_manifest_reader_free (r);
}

/* The plan is in the last line of the header, and the rest of the manifest does
 * not depend on it, except for the CRC at the end.
 */
static void
test_plan (void **state)
{
  char with[4096], without[4096];
  int fd = write_with_plan (plan_id), other = write_with_plan (NULL);
  ssize_t size = read (fd, with, sizeof with);
  const char *line = with + strlen (with) - 71;

  (void) state;
  assert_int_equal (read (other, without, sizeof without), size);
  lseek (fd, 0, SEEK_SET);
  lseek (other, 0, SEEK_SET);
  check_plan (fd, plan_id);
  check_plan (other, "");
  assert_memory_equal (with, without, strlen (without));
  assert_ptr_equal (line, with + strlen (without));
  assert_memory_equal (line, "plan: ", 6);
  assert_memory_equal (line + 6, plan_id, 64);
  assert_string_equal (line + 70, "\n");
  assert_memory_equal (with + 512, without + 512, size - 512 - 8);
  close (fd);
  close (other);
}

/* A value that another program wrote, and that is no SHA-256, is ignored. */
static void
test_other_plan (void **state)
{
  static const char *const others[] = {
    "0", "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0",
  };
  char header[513] = "";
  size_t i;

  (void) state;
  for (i = 0; i < sizeof others / sizeof others[0]; i++) {
    int fd = write_with_plan (NULL);
    struct blkhash_manifest_reader *r;

    assert_int_equal (pread (fd, header, 512, 0), 512);
    sprintf (header + strlen (header), "plan: %s\n", others[i]);
    assert_int_equal (pwrite (fd, header, 512, 0), 512);
    r = start_reader (fd);
    assert_string_equal (manifest_reader_plan (r), "");
    blkhash_manifest_reader_free (r);
    close (fd);
  }
}

static void
test_plan_misused (void **state)
{
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new (NULL, BLKHASH_SIZE_UNKNOWN, fd);

  (void) state;
  assert_int_equal (manifest_writer_set_plan (w, plan_id), EINVAL);
  blkhash_manifest_writer_free (w);
  close (fd);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_parts),
    cmocka_unit_test (test_whole_part),
    cmocka_unit_test (test_writer_misused),
    cmocka_unit_test (test_zeros_in_parts),
    cmocka_unit_test (test_no_such_part),
    cmocka_unit_test (test_merge),
    cmocka_unit_test (test_put_over),
    cmocka_unit_test (test_put_misused),
    cmocka_unit_test (test_put_leaves_of_zeros),
    cmocka_unit_test (test_put_leaves_of_other_zeros),
    cmocka_unit_test (test_put_leaves_not_unique),
    cmocka_unit_test (test_plan),
    cmocka_unit_test (test_other_plan),
    cmocka_unit_test (test_plan_misused),
  };

  make_image ();
  return cmocka_run_group_tests (tests, NULL, NULL);
}
