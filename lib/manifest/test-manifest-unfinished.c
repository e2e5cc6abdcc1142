/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: an unfinished manifest is written, truncated or damaged anywhere,
 * read, and continued.  Only a reader of unfinished manifests accepts it.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
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
#include "manifest/manifest-unfinished.h"

#define BLOCK 65536
#define BLOCKS 10
#define SIZE (9 * (uint64_t) BLOCK + 100)
#define LEAF 32
#define HEADER 512
#define ROOM 4096

/* LEAVES has a leaf for each block; those of blocks 3, 4 and 5 are not used,
 * because these blocks are zeros.  RUNS are the calls of the sink, each of
 * which is followed by a flush.
 */
static unsigned char leaves[BLOCKS][LEAF];
static const struct run {
  uint64_t first, count;
  bool zero;
} runs[] = {
  { 0, 1, false }, { 1, 2, false }, { 3, 1, true }, { 4, 2, true },
  { 6, 3, false }, { 9, 1, false },
};
#define RUNS (sizeof runs / sizeof runs[0])

static int
temporary (void)
{
  char name[] = "test-manifest-unfinished-XXXXXX";
  int fd = mkstemp (name);

  assert_int_not_equal (fd, -1);
  unlink (name);
  return fd;
}

static void
make_leaves (void)
{
  size_t i;

  for (i = 0; i < BLOCKS; i++)
    memset (leaves[i], 1 + i, LEAF);
}

static struct blkhash_manifest_reader *
start_reader (int fd)
{
  struct blkhash_manifest_reader *r;

  lseek (fd, 0, SEEK_SET);
  r = manifest_reader_new_unfinished (fd, NULL, 0);
  assert_non_null (r);
  return r;
}

/* Pass the run T to the sink of W. */
static void
give (struct blkhash_manifest_writer *w, const struct run *t)
{
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);

  if (t->zero)
    assert_int_equal (sink.zero (sink.opaque, t->first, t->count), 0);
  else
    assert_int_equal (sink.data (sink.opaque, t->first, t->count,
                                 leaves[t->first], LEAF), 0);
}

/* Returns a file with an unfinished manifest of all RUNS.  Stores in ENDS[0]
 * the end of the header, and in ENDS[i + 1] the end of the record of RUNS[i].
 * The head and the tail of a record have 24 bytes together.
 */
static int
write_all (off_t ends[RUNS + 1])
{
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    manifest_writer_new_unfinished (NULL, SIZE, 0, fd);
  size_t i;

  assert_non_null (w);
  assert_int_equal (manifest_writer_flush (w), 0);
  ends[0] = lseek (fd, 0, SEEK_CUR);
  assert_int_equal (ends[0], HEADER);
  for (i = 0; i < RUNS; i++) {
    give (w, &runs[i]);
    assert_int_equal (manifest_writer_flush (w), 0);
    ends[i + 1] = lseek (fd, 0, SEEK_CUR);
    assert_int_equal (ends[i + 1] - ends[i],
                      24 + (runs[i].zero ? 0 : LEAF * runs[i].count));
    assert_int_equal (manifest_writer_flush (w), 0);
    assert_int_equal (lseek (fd, 0, SEEK_CUR), ends[i + 1]);
  }
  blkhash_manifest_writer_free (w);
  return fd;
}

/* Read the blocks in FD, and check them.  Returns their number, and stores the
 * offset at which the last valid record ends.
 */
static uint64_t
read_unfinished (int fd, uint64_t *offset)
{
  struct blkhash_manifest_reader *r = start_reader (fd);
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_manifest_run run;
  uint64_t next = 0;
  int err;

  while ((err = blkhash_manifest_reader_next (r, &run)) == 0) {
    assert_int_equal (run.first, next);
    assert_true (run.count > 0 && run.count <= BLOCKS - next);
    assert_true (!run.leaves == (next >= 3 && next < 6));
    if (run.leaves)
      assert_memory_equal (run.leaves, leaves[next], run.count * LEAF);
    next += run.count;
  }
  assert_int_equal (err, ENOENT);
  assert_int_equal (blkhash_manifest_reader_next (r, &run), ENOENT);
  assert_int_not_equal (blkhash_manifest_reader_error (r)[0], '\0');
  assert_int_equal (blkhash_manifest_reader_sum (r, md, NULL), ENODATA);
  *offset = manifest_reader_offset (r);
  blkhash_manifest_reader_free (r);
  return next;
}

static void
refused_by_others (int fd)
{
  char reason[BLKHASH_MAX_REASON_SIZE];

  lseek (fd, 0, SEEK_SET);
  errno = 0;
  assert_null (blkhash_manifest_reader_new (fd, BLKHASH_MANIFEST_NO_SUM,
                                            reason, sizeof reason));
  assert_int_equal (errno, EBADMSG);
  assert_string_equal (reason,
                       "it is not finished: not all of the image was hashed");
}

/* Returns the number of records that end at or before the offset AT. */
static size_t
records_before (const off_t ends[RUNS + 1], off_t at)
{
  size_t n = 0;

  while (n < RUNS && ends[n + 1] <= at)
    n++;
  return n;
}

/* ---- The header ---- */

/* The ID is in the last line of the header, and cannot be set after the header
 * was written.
 */
static void
test_id (void **state)
{
  char text[HEADER + 1] = "", max[65], reason[128];
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    manifest_writer_new_unfinished (NULL, SIZE, 0, fd);
  struct blkhash_manifest_reader *r;

  (void) state;
  memset (max, 'x', sizeof max);
  max[64] = '\0';
  assert_int_equal (manifest_writer_set_id (w, max), EINVAL);
  assert_int_equal (manifest_writer_set_id (w, "another"), 0);
  assert_int_equal (manifest_writer_set_id (w, "0123abc"), 0);
  assert_int_equal (lseek (fd, 0, SEEK_END), 0);
  assert_int_equal (manifest_writer_flush (w), 0);
  assert_int_equal (manifest_writer_set_id (w, "late"), EINVAL);
  blkhash_manifest_writer_free (w);

  assert_int_equal (pread (fd, text, HEADER, 0), HEADER);
  assert_string_equal (text + strlen (text) - 35,
                       "\n!unfinished: yes\njournal: 0123abc\n");
  r = start_reader (fd);
  assert_string_equal (manifest_reader_id (r), "0123abc");
  blkhash_manifest_reader_free (r);

  /* "!unfinished" with another value than "yes" is refused. */
  memcpy (strstr (text, "!unfinished: ") + 13, "not", 3);
  assert_int_equal (pwrite (fd, text, HEADER, 0), HEADER);
  assert_int_equal (lseek (fd, 0, SEEK_SET), 0);
  assert_null (manifest_reader_new_unfinished (fd, reason, sizeof reason));
  assert_string_equal (reason, "the header has an unsupported state");
  memcpy (strstr (text, "!unfinished: ") + 13, "yes", 3);

  /* A longer ID, written by another program, is ignored. */
  snprintf (text + strlen (text) - 8, 80, "%s\n", max);
  assert_int_equal (pwrite (fd, text, HEADER, 0), HEADER);
  r = start_reader (fd);
  assert_string_equal (manifest_reader_id (r), "");
  blkhash_manifest_reader_free (r);
  close (fd);

  w = blkhash_manifest_writer_new (NULL, SIZE, fileno (stderr));
  assert_int_equal (manifest_writer_set_id (w, "finished"), EINVAL);
  blkhash_manifest_writer_free (w);
}

/* ---- Cut, damaged, continued ---- */

static void
test_cut_anywhere (void **state)
{
  unsigned char whole[ROOM];
  off_t ends[RUNS + 1], at;
  int fd = write_all (ends);
  ssize_t size = pread (fd, whole, sizeof whole, 0);

  (void) state;
  assert_int_equal (size, ends[RUNS]);
  for (at = size; at >= HEADER; at--) {
    size_t n = records_before (ends, at);
    uint64_t offset;

    assert_int_equal (ftruncate (fd, at), 0);
    assert_int_equal (read_unfinished (fd, &offset),
                      n == RUNS ? BLOCKS : runs[n].first);
    assert_int_equal (offset, ends[n]);
    refused_by_others (fd);
  }
  close (fd);
}

/* The reader stops before the first invalid record.  The cases are: any one
 * byte after the header is changed; zeros follow the last record, as some file
 * systems leave them after a crash; another record is written over that of
 * runs[3].
 */
static void
test_garbage_behind (void **state)
{
  unsigned char whole[ROOM], zeros[100] = { 0 };
  off_t ends[RUNS + 1], at;
  int fd = write_all (ends);
  ssize_t size = pread (fd, whole, sizeof whole, 0);
  uint64_t offset;

  (void) state;
  for (at = HEADER; at < size; at++) {
    size_t n = records_before (ends, at);
    unsigned char changed = whole[at] ^ 0x40;

    assert_int_equal (pwrite (fd, &changed, 1, at), 1);
    assert_int_equal (read_unfinished (fd, &offset), runs[n].first);
    assert_int_equal (offset, ends[n]);
    assert_int_equal (pwrite (fd, &whole[at], 1, at), 1);
  }
  assert_int_equal (pwrite (fd, zeros, sizeof zeros, size), sizeof zeros);
  assert_int_equal (read_unfinished (fd, &offset), BLOCKS);
  assert_int_equal (offset, size);
  for (at = 0; at < (off_t) RUNS; at++) {
    off_t len = ends[at + 1] - ends[at];

    assert_int_equal (pwrite (fd, whole + ends[at], len, ends[3]), len);
    assert_int_equal (read_unfinished (fd, &offset),
                      at == 3 ? BLOCKS : runs[3].first);
    assert_int_equal (pwrite (fd, whole + ends[3], size - ends[3], ends[3]),
                      size - ends[3]);
  }
  close (fd);
}

/* A manifest is continued after any record.  Blocks that it already has are not
 * written again.
 */
static void
test_continued (void **state)
{
  unsigned char whole[ROOM], got[ROOM];
  off_t ends[RUNS + 1];
  int fd = write_all (ends);
  ssize_t size = pread (fd, whole, sizeof whole, 0);
  size_t n, i;

  (void) state;
  for (n = 1; n < RUNS; n++) {
    struct blkhash_manifest_writer *w;

    assert_int_equal (ftruncate (fd, ends[n]), 0);
    assert_int_equal (lseek (fd, 0, SEEK_END), ends[n]);
    w = manifest_writer_new_unfinished (NULL, SIZE, runs[n].first, fd);
    assert_non_null (w);
    for (i = 0; i < RUNS; i++) {
      give (w, &runs[i]);
      assert_int_equal (manifest_writer_flush (w), 0);
    }
    blkhash_manifest_writer_free (w);
    assert_int_equal (pread (fd, got, sizeof got, 0), size);
    assert_memory_equal (got, whole, size);
  }
  close (fd);
}

/* Only a flush writes, however many leaves there are. */
static void
test_only_by_flush (void **state)
{
  enum { MANY = 3 * 65536 };
  unsigned char *many = calloc (MANY, LEAF);
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    manifest_writer_new_unfinished (NULL, (uint64_t) MANY * BLOCK, 0,
                                            fd);
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);

  (void) state;
  assert_non_null (many);
  memset (many, 1, (size_t) MANY * LEAF);
  assert_int_equal (sink.data (sink.opaque, 0, MANY, many, LEAF), 0);
  assert_int_equal (lseek (fd, 0, SEEK_END), 0);
  assert_int_equal (manifest_writer_flush (w), 0);
  assert_int_equal (lseek (fd, 0, SEEK_END),
                    HEADER + 3 * 24 + (off_t) MANY * LEAF);
  blkhash_manifest_writer_free (w);
  free (many);
  close (fd);
}

/* ---- A finished manifest ---- */

/* Returns a file with a finished manifest, and stores its sum in MD. */
static int
write_finished (unsigned char *md)
{
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new (NULL, SIZE, fd);
  size_t i;

  for (i = 0; i < RUNS; i++)
    give (w, &runs[i]);
  assert_int_equal (manifest_writer_flush (w), EINVAL);
  assert_int_equal (blkhash_manifest_writer_finish (w, SIZE, md, NULL), 0);
  blkhash_manifest_writer_free (w);
  return fd;
}

/* A finished manifest has a sum, if it is not truncated and nothing follows. */
static void
test_finished (void **state)
{
  unsigned char sum[BLKHASH_MAX_MD_SIZE], md[BLKHASH_MAX_MD_SIZE];
  int fd = write_finished (sum);
  off_t size = lseek (fd, 0, SEEK_END);
  struct blkhash_manifest_reader *r = start_reader (fd);
  struct blkhash_manifest_run run;
  uint64_t offset;
  int err;

  (void) state;
  do
    err = blkhash_manifest_reader_next (r, &run);
  while (err == 0);
  assert_int_equal (err, ENOENT);
  assert_int_equal (manifest_reader_offset (r), size);
  assert_int_equal (blkhash_manifest_reader_sum (r, md, NULL), 0);
  assert_memory_equal (md, sum, LEAF);
  blkhash_manifest_reader_free (r);

  assert_int_equal (pwrite (fd, "x", 1, size), 1);
  assert_int_equal (read_unfinished (fd, &offset), BLOCKS);
  assert_int_equal (offset, size - 24 - LEAF);
  assert_int_equal (ftruncate (fd, size - 1), 0);
  assert_int_equal (read_unfinished (fd, &offset), BLOCKS);
  assert_int_equal (offset, size - 24 - LEAF);
  close (fd);
}

/* ---- Misuse ---- */

static void
test_writer_misused (void **state)
{
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    manifest_writer_new_unfinished (NULL, SIZE, 0, fd);
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);

  (void) state;
  give (w, &runs[0]);
  assert_int_equal (sink.zero (sink.opaque, 1, BLOCKS - 1), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, SIZE, NULL, NULL),
                    EINVAL);
  assert_int_equal (manifest_writer_flush (w), 0);
  assert_int_equal (sink.zero (sink.opaque, 0, 1), EINVAL);
  assert_int_equal (manifest_writer_flush (w), EINVAL);
  blkhash_manifest_writer_free (w);

  errno = 0;
  assert_null (manifest_writer_new_unfinished (NULL, SIZE, BLOCKS + 1,
                                                       fd));
  assert_int_equal (errno, EINVAL);
  errno = 0;
  assert_null (manifest_writer_new_unfinished (NULL,
                                                       BLKHASH_SIZE_UNKNOWN,
                                                       0, fd));
  assert_int_equal (errno, EINVAL);
  close (fd);
}

static int
differ_fails (void *opaque, uint64_t start, uint64_t len)
{
  (void) opaque; (void) start; (void) len;
  return ECANCELED;
}

/* Functions that need all blocks refuse a reader of unfinished manifests. */
static void
test_reader_misused (void **state)
{
  int fd = write_finished (NULL), other = write_finished (NULL);
  struct blkhash_manifest_reader *r = start_reader (fd), *s;

  (void) state;
  lseek (other, 0, SEEK_SET);
  s = blkhash_manifest_reader_new (other, 0, NULL, 0);
  assert_non_null (s);
  errno = 0;
  assert_null (blkhash_leaves_load (r));
  assert_int_equal (errno, EINVAL);
  assert_int_equal (blkhash_manifest_diff (r, s, differ_fails, NULL), EINVAL);
  assert_int_equal (blkhash_manifest_diff (s, r, differ_fails, NULL), EINVAL);
  blkhash_manifest_reader_free (r);
  blkhash_manifest_reader_free (s);
  /* A public reader has no flag to accept an unfinished manifest. */
  errno = 0;
  assert_null (blkhash_manifest_reader_new (fd, 2, NULL, 0));
  assert_int_equal (errno, EINVAL);
  close (fd);
  close (other);
}

/* The error of a write is sticky. */
static void
test_full (void **state)
{
  int fds[2];
  struct blkhash_manifest_writer *w;

  (void) state;
  signal (SIGPIPE, SIG_IGN);
  assert_int_equal (pipe (fds), 0);
  close (fds[0]);
  w = manifest_writer_new_unfinished (NULL, SIZE, 0, fds[1]);
  assert_non_null (w);
  assert_int_equal (manifest_writer_flush (w), EPIPE);
  assert_int_equal (manifest_writer_flush (w), EPIPE);
  blkhash_manifest_writer_free (w);
  close (fds[1]);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_id),
    cmocka_unit_test (test_cut_anywhere),
    cmocka_unit_test (test_garbage_behind),
    cmocka_unit_test (test_continued),
    cmocka_unit_test (test_only_by_flush),
    cmocka_unit_test (test_finished),
    cmocka_unit_test (test_writer_misused),
    cmocka_unit_test (test_reader_misused),
    cmocka_unit_test (test_full),
  };

  make_leaves ();
  return cmocka_run_group_tests (tests, NULL, NULL);
}
