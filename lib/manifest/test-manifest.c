/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: what writers and readers of manifests do when they are misused,
 * and when nothing can be written.  What is in a manifest is the business of
 * tests/test-manifest.py.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash-manifest.h"

#define BLOCK 65536
#define SIZE (3 * BLOCK + 100)  /* 4 blocks */
#define LEAF 32

static unsigned char image[SIZE];

static int
temporary (void)
{
  char name[] = "test-manifest-XXXXXX";
  int fd = mkstemp (name);

  assert_int_not_equal (fd, -1);
  unlink (name);
  return fd;
}

/* Data, zeros, data, and a short block of zeros. */
static struct blkhash_leaves *
full_table (unsigned flags)
{
  struct blkhash_leaves *l = blkhash_leaves_new (NULL, SIZE, flags);

  assert_non_null (l);
  memset (image, 1, BLOCK);
  memset (image + 2 * BLOCK, 2, BLOCK);
  return l;
}

static void
give (struct blkhash_leaves *l)
{
  assert_int_equal (blkhash_leaves_data (l, image, SIZE, 0), 0);
}

static int
nobody_data (void *opaque, uint64_t index, size_t count,
             const unsigned char *leaves, size_t leaf_size)
{
  (void) index, (void) count, (void) leaves, (void) leaf_size;
  ++*(int *) opaque;
  return 0;
}

static int
nobody_zero (void *opaque, uint64_t index, uint64_t count)
{
  (void) index, (void) count;
  ++*(int *) opaque;
  return 0;
}

/* ---- Writing ---- */

static void
test_writer_misused (void **state)
{
  unsigned char leaf[LEAF] = { 1 };
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new (NULL, 2 * BLOCK, fd);
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);

  (void) state;
  blkhash_manifest_writer_free (NULL);
  /* Too early, another size, another digest: nothing sticks. */
  assert_int_equal (blkhash_manifest_writer_finish (w, 2 * BLOCK, leaf, LEAF),
                    EINVAL);
  assert_int_equal (sink.data (sink.opaque, 0, 1, leaf, LEAF), 0);
  assert_int_equal (sink.zero (sink.opaque, 1, 1), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, BLOCK, leaf, LEAF),
                    EINVAL);
  assert_int_equal (blkhash_manifest_writer_finish (w, 2 * BLOCK + 1, leaf,
                                                    LEAF), EINVAL);
  assert_int_equal (blkhash_manifest_writer_finish (w, 2 * BLOCK, leaf, 20),
                    EINVAL);
  assert_int_equal (blkhash_manifest_writer_finish (w, 2 * BLOCK, leaf, LEAF),
                    0);
  assert_int_equal (blkhash_manifest_writer_finish (w, 2 * BLOCK, leaf, LEAF),
                    EINVAL);
  assert_int_equal (sink.data (sink.opaque, 2, 1, leaf, LEAF), EINVAL);
  blkhash_manifest_writer_free (w);

  /* Blocks in another order, or of another digest: that sticks. */
  w = blkhash_manifest_writer_new (NULL, 2 * BLOCK, fd);
  sink = blkhash_manifest_writer_sink (w);
  assert_int_equal (sink.zero (sink.opaque, 1, 1), EINVAL);
  assert_int_equal (sink.zero (sink.opaque, 0, 2), EINVAL);
  assert_int_equal (blkhash_manifest_writer_finish (w, 2 * BLOCK, leaf, LEAF),
                    EINVAL);
  blkhash_manifest_writer_free (w);
  w = blkhash_manifest_writer_new (NULL, 2 * BLOCK, fd);
  sink = blkhash_manifest_writer_sink (w);
  assert_int_equal (sink.data (sink.opaque, 0, 1, leaf, 64), EINVAL);
  blkhash_manifest_writer_free (w);
  close (fd);
}

/* A size that is told at the end needs a file that can be written in any place.
 */
static void
test_unknown_size (void **state)
{
  int fd = temporary (), fds[2];

  (void) state;
  assert_int_equal (pipe (fds), 0);
  errno = 0;
  assert_null (blkhash_manifest_writer_new (NULL, BLKHASH_SIZE_UNKNOWN,
                                            fds[1]));
  assert_int_equal (errno, ESPIPE);
  assert_int_equal (fcntl (fd, F_SETFL, O_APPEND), 0);
  errno = 0;
  assert_null (blkhash_manifest_writer_new (NULL, BLKHASH_SIZE_UNKNOWN, fd));
  assert_int_equal (errno, EINVAL);
  close (fd);
  close (fds[0]);
  close (fds[1]);
}

static void
test_write_errors (void **state)
{
  struct blkhash_leaves *l = full_table (0);
  int fd = open ("/dev/full", O_WRONLY), fds[2];
  unsigned char md[BLKHASH_MAX_MD_SIZE];

  (void) state;
  give (l);
  if (fd != -1) {
    assert_int_equal (blkhash_leaves_save (l, fd, md, NULL), ENOSPC);
    close (fd);
  }
  assert_int_equal (blkhash_leaves_save (l, -1, NULL, NULL), EBADF);
  signal (SIGPIPE, SIG_IGN);
  assert_int_equal (pipe (fds), 0);
  close (fds[0]);
  assert_int_equal (blkhash_leaves_save (l, fds[1], NULL, NULL), EPIPE);
  close (fds[1]);
  blkhash_leaves_free (l);
}

/* Saving folds, and leaves the table and its sink alone. */
static void
test_save (void **state)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE], saved[BLKHASH_MAX_MD_SIZE];
  struct blkhash_leaves *l = full_table (0);
  int told = 0, fd = temporary ();
  struct blkhash_leaf_sink sink = {
    .data = nobody_data, .zero = nobody_zero, .opaque = &told
  };
  unsigned len = 0;

  (void) state;
  assert_int_equal (blkhash_leaves_set_sink (l, &sink), 0);
  assert_int_equal (blkhash_leaves_save (l, fd, NULL, NULL), ENODATA);
  give (l);
  assert_int_equal (ftruncate (fd, 0), 0);
  lseek (fd, 0, SEEK_SET);
  assert_int_equal (blkhash_leaves_save (l, fd, saved, &len), 0);
  assert_int_equal (len, LEAF);
  assert_int_equal (told, 0);
  assert_int_equal (lseek (fd, 0, SEEK_CUR), lseek (fd, 0, SEEK_END));
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
  assert_memory_equal (md, saved, LEAF);
  assert_int_equal (told, 4);
  blkhash_leaves_free (l);

  l = full_table (BLKHASH_LEAVES_ONCE);
  give (l);
  assert_int_equal (blkhash_leaves_save (l, fd, NULL, NULL), EINVAL);
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
  blkhash_leaves_free (l);
  l = blkhash_leaves_new (NULL, BLKHASH_SIZE_UNKNOWN, 0);
  assert_int_equal (blkhash_leaves_save (l, fd, NULL, NULL), ENODATA);
  blkhash_leaves_free (l);
  close (fd);
}

/* ---- Reading ---- */

static int
saved_table (void)
{
  struct blkhash_leaves *l = full_table (0);
  int fd = temporary ();

  give (l);
  assert_int_equal (blkhash_leaves_save (l, fd, NULL, NULL), 0);
  lseek (fd, 0, SEEK_SET);
  blkhash_leaves_free (l);
  return fd;
}

static struct blkhash_manifest_reader *
new_reader (int fd, unsigned flags)
{
  struct blkhash_manifest_reader *r;

  lseek (fd, 0, SEEK_SET);
  r = blkhash_manifest_reader_new (fd, flags, NULL, 0);
  assert_non_null (r);
  return r;
}

static void
test_reader_misused (void **state)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_manifest_reader *r;
  struct blkhash_manifest_run run;
  int fd = saved_table ();

  (void) state;
  blkhash_manifest_reader_free (NULL);
  r = new_reader (fd, 0);
  assert_int_equal (blkhash_manifest_reader_is_complete (r), 1);
  assert_int_equal (blkhash_manifest_reader_sum (r, md, NULL), ENODATA);
  assert_int_equal (blkhash_manifest_reader_next (r, &run), 0);
  errno = 0;
  assert_null (blkhash_leaves_load (r));
  assert_int_equal (errno, EINVAL);
  assert_int_equal (blkhash_manifest_reader_sum (r, md, NULL), ENODATA);
  while (blkhash_manifest_reader_next (r, &run) == 0)
    ;
  assert_int_equal (blkhash_manifest_reader_next (r, &run), ENOENT);
  assert_int_equal (blkhash_manifest_reader_sum (r, md, NULL), 0);
  assert_null (blkhash_leaves_load (r));
  blkhash_manifest_reader_free (r);

  /* A table is only made of what is known to be right. */
  r = new_reader (fd, BLKHASH_MANIFEST_NO_SUM);
  errno = 0;
  assert_null (blkhash_leaves_load (r));
  assert_int_equal (errno, EINVAL);
  blkhash_manifest_reader_free (r);
  close (fd);
}

static void
assert_no_reader (int fd, unsigned flags, int err, const char *why)
{
  char reason[BLKHASH_MAX_REASON_SIZE + 1];
  size_t size;

  lseek (fd, 0, SEEK_SET);
  errno = 0;
  assert_null (blkhash_manifest_reader_new (fd, flags, NULL, 0));
  assert_int_equal (errno, err);
  for (size = 0; size < sizeof reason; size++) {
    memset (reason, '?', sizeof reason);
    lseek (fd, 0, SEEK_SET);
    errno = 0;
    assert_null (blkhash_manifest_reader_new (fd, flags, reason, size));
    assert_int_equal (errno, err);
    if (size > 0)
      assert_memory_equal (reason, why, strnlen (reason, sizeof reason));
    assert_int_equal (reason[size], '?');
  }
  assert_string_equal (reason, why);
}

/* There is no reader, and a reason, which is cut off where there is no room. */
static void
test_read_errors (void **state)
{
  int fd = temporary ();

  (void) state;
  assert_no_reader (-1, 0, EBADF, strerror (EBADF));
  assert_no_reader (fd, 4, EINVAL, strerror (EINVAL));
  assert_no_reader (fd, 0, EBADMSG,
                    "it is too short for a manifest of blkhash");
  assert_int_equal (pwrite (fd, image, 512, 0), 512);
  assert_no_reader (fd, 0, EBADMSG, "it is no manifest of blkhash");
  close (fd);
}

/* Zeros are given before their sum is computed, which takes weeks. */
static void
test_run_before_sum (void **state)
{
  const uint64_t size = UINT64_C (1) << 63;
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new (NULL, size, fd);
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);
  struct blkhash_manifest_reader *r;
  struct blkhash_manifest_run run;

  (void) state;
  assert_int_equal (sink.zero (sink.opaque, 0, size / BLOCK), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, size, image, LEAF), 0);
  blkhash_manifest_writer_free (w);
  r = new_reader (fd, 0);
  alarm (300);
  assert_int_equal (blkhash_manifest_reader_next (r, &run), 0);
  alarm (0);
  assert_int_equal (run.count, size / BLOCK);
  blkhash_manifest_reader_free (r);
  close (fd);
}

/* What was loaded is a table like any other. */
static void
test_load (void **state)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE], loaded[BLKHASH_MAX_MD_SIZE];
  int fd = saved_table ();
  struct blkhash_manifest_reader *r = new_reader (fd, 0);
  struct blkhash_leaves *l;
  uint64_t start, len, data, zero;

  (void) state;
  l = blkhash_leaves_load (r);
  assert_non_null (l);
  blkhash_leaves_count (l, &data, &zero);
  assert_int_equal (data, 2 * BLOCK);
  assert_int_equal (zero, BLOCK + 100);
  assert_int_equal (blkhash_manifest_reader_sum (r, md, NULL), 0);
  assert_int_equal (blkhash_leaves_fold (l, loaded, NULL), 0);
  assert_memory_equal (md, loaded, LEAF);
  assert_int_equal (blkhash_leaves_forget (l, 1, BLOCK), 0);
  assert_int_equal (blkhash_leaves_next_missing (l, 0, &start, &len), 0);
  assert_int_equal (start, BLOCK);
  assert_int_equal (blkhash_leaves_data (l, image + BLOCK, BLOCK, BLOCK), 0);
  assert_int_equal (blkhash_leaves_fold (l, loaded, NULL), 0);
  assert_memory_equal (md, loaded, LEAF);
  blkhash_leaves_free (l);
  blkhash_manifest_reader_free (r);
  close (fd);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_writer_misused),
    cmocka_unit_test (test_unknown_size),
    cmocka_unit_test (test_write_errors),
    cmocka_unit_test (test_save),
    cmocka_unit_test (test_reader_misused),
    cmocka_unit_test (test_read_errors),
    cmocka_unit_test (test_run_before_sum),
    cmocka_unit_test (test_load),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
