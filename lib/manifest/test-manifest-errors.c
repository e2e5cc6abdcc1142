/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: misuse of writers and readers of manifests, errors of write(2),
 * and which files manifest_validate accepts.  tests/lib/test-manifest.py
 * compares the bytes of manifests with the reference.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "blkhash-manifest.h"
#include "manifest/manifest-format.h"
#include "manifest/manifest.h"

#define BLOCK 65536
#define SIZE (3 * BLOCK + 100)  /* 4 blocks */
#define LEAF 32

static unsigned char image[SIZE];

/* The results of the next calls of pwrite: an errno value, or minus the maximum
 * number of bytes that the call writes.  0 ends the list.
 */
static const int *pwrite_results;

/* If not 0, a write writes at most that many bytes, and every other one is
 * interrupted.
 */
static size_t write_max;

ssize_t __real_write (int fd, const void *buf, size_t len);
ssize_t __wrap_write (int fd, const void *buf, size_t len);

ssize_t
__wrap_write (int fd, const void *buf, size_t len)
{
  static unsigned calls;

  if (write_max > 0 && ++calls % 2) {
    errno = EINTR;
    return -1;
  }
  return __real_write (fd, buf, write_max > 0 && len > write_max ? write_max
                                                                 : len);
}

ssize_t __wrap_pwrite (int fd, const void *buf, size_t len, off_t offset);
ssize_t __wrap_pwrite64 (int fd, const void *buf, size_t len, off_t offset);

ssize_t
__wrap_pwrite (int fd, const void *buf, size_t len, off_t offset)
{
  int result = pwrite_results && *pwrite_results ? *pwrite_results++ : 0;

  if (result > 0) {
    errno = result;
    return -1;
  }
  if (result < 0 && len > (size_t) -result)
    len = -result;
  return lseek (fd, offset, SEEK_SET) == -1 ? -1 : write (fd, buf, len);
}

ssize_t
__wrap_pwrite64 (int fd, const void *buf, size_t len, off_t offset)
{
  return __wrap_pwrite (fd, buf, len, offset);
}

static int
temporary (void)
{
  char name[] = "test-manifest-XXXXXX";
  int fd = mkstemp (name);

  assert_int_not_equal (fd, -1);
  unlink (name);
  return fd;
}

/* Fill IMAGE with three blocks, of data, zeros and data, and a short block of
 * zeros.  Returns a leaf table for IMAGE, to which no block was added yet.
 */
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
count_data (void *opaque, uint64_t index, size_t count,
            const unsigned char *leaves, size_t leaf_size)
{
  (void) index, (void) count, (void) leaves, (void) leaf_size;
  ++*(int *) opaque;
  return 0;
}

static int
count_zero (void *opaque, uint64_t index, uint64_t count)
{
  (void) index, (void) count;
  ++*(int *) opaque;
  return 0;
}

/* Check that no table can be loaded from R, and that the error says why. */
static void
assert_not_loaded (struct blkhash_manifest_reader *r)
{
  errno = 0;
  assert_null (blkhash_leaves_load (r));
  assert_int_equal (errno, EINVAL);
  assert_string_equal (blkhash_manifest_reader_error (r),
                       "a reader without flags is needed that has read "
                       "nothing but the header");
}

/* ---- Writing ---- */

static void
test_writer_misused (void **state)
{
  unsigned char leaf[LEAF] = { 1 }, md[BLKHASH_MAX_MD_SIZE];
  unsigned len = 77;
  int fd = temporary ();
  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new (NULL, 2 * BLOCK, fd);
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);

  (void) state;
  blkhash_manifest_writer_free (NULL);
  /* Finished too early, or with another size: the error is not sticky. */
  assert_int_equal (blkhash_manifest_writer_finish (w, 2 * BLOCK, md, &len),
                    EINVAL);
  assert_int_equal (sink.data (sink.opaque, 0, 1, leaf, LEAF), 0);
  assert_int_equal (sink.zero (sink.opaque, 1, 1), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, BLOCK, md, &len),
                    EINVAL);
  assert_int_equal (blkhash_manifest_writer_finish (w, 2 * BLOCK + 1, md,
                                                    &len), EINVAL);
  assert_int_equal (len, 77);
  assert_int_equal (blkhash_manifest_writer_finish (w, 2 * BLOCK, md, &len),
                    0);
  assert_int_equal (len, LEAF);
  assert_int_equal (blkhash_manifest_writer_finish (w, 2 * BLOCK, md, &len),
                    EINVAL);
  assert_int_equal (sink.data (sink.opaque, 2, 1, leaf, LEAF), EINVAL);
  blkhash_manifest_writer_free (w);

  /* Blocks out of order, or leaves of another size: the error is sticky. */
  w = blkhash_manifest_writer_new (NULL, 2 * BLOCK, fd);
  sink = blkhash_manifest_writer_sink (w);
  assert_int_equal (sink.zero (sink.opaque, 1, 1), EINVAL);
  assert_int_equal (sink.zero (sink.opaque, 0, 2), EINVAL);
  assert_int_equal (blkhash_manifest_writer_finish (w, 2 * BLOCK, md, &len),
                    EINVAL);
  blkhash_manifest_writer_free (w);
  w = blkhash_manifest_writer_new (NULL, 2 * BLOCK, fd);
  sink = blkhash_manifest_writer_sink (w);
  assert_int_equal (sink.data (sink.opaque, 0, 1, leaf, 64), EINVAL);
  blkhash_manifest_writer_free (w);
  close (fd);
}

static void
set_block (unsigned char *data, unsigned block, bool zero)
{
  memset (data + block * 16, zero ? 0 : 1 + block, 16);
}

/* Check the sum that a writer computes for LEN bytes of DATA.  The blocks are
 * added to a leaf table from last to first, and KNOWN says whether the size is
 * known from the beginning.
 */
static void
check_sum (const struct blkhash_opts *opts, const unsigned char *data,
           uint64_t len, bool known)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE], expected[BLKHASH_MAX_MD_SIZE];
  uint64_t size = known ? len : BLKHASH_SIZE_UNKNOWN, at = len;
  int fd = temporary ();
  struct blkhash *h = blkhash_new_opts (opts);
  struct blkhash_leaves *l =
    blkhash_leaves_new (opts, size,
                        BLKHASH_LEAVES_ONCE | BLKHASH_LEAVES_NO_SUM);
  struct blkhash_manifest_writer *w =
    blkhash_manifest_writer_new (opts, size, fd);
  struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);

  assert_int_equal (blkhash_leaves_set_sink (l, &sink), 0);
  while (at > 0) {
    uint64_t start = (at - 1) / 16 * 16;

    assert_int_equal (blkhash_leaves_data (l, data + start, at - start, start),
                      0);
    at = start;
  }
  if (!known)
    assert_int_equal (blkhash_leaves_set_size (l, len), 0);
  assert_int_equal (blkhash_leaves_fold (l, NULL, NULL), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, len, md, NULL), 0);
  assert_int_equal (blkhash_update (h, data, len), 0);
  assert_int_equal (blkhash_final (h, expected, NULL), 0);
  assert_memory_equal (md, expected, LEAF);
  blkhash_manifest_writer_free (w);
  blkhash_leaves_free (l);
  blkhash_free (h);
  close (fd);
}

/* The writer computes the sum of data and zeros in any pattern, with a short
 * last block of data or zeros, in each construction.
 */
static void
test_sum (void **state)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  unsigned char data[4 * 16];
  unsigned pattern, block, len, how;

  (void) state;
  assert_int_equal (blkhash_opts_set_block_size (opts, 16), 0);
  for (how = 0; how < 3; how++) {
    assert_int_equal (how < 2 ? blkhash_opts_set_streams (opts, 3 * how)
                              : blkhash_opts_set_linear (opts, 1), 0);
    for (pattern = 0; pattern < 16; pattern++) {
      for (block = 0; block < 4; block++)
        set_block (data, block, pattern & 1u << block);
      for (len = 0; len <= sizeof data; len += len % 16 == 0 ? 7 : 9) {
        check_sum (opts, data, len, true);
        check_sum (opts, data, len, false);
      }
    }
  }
  blkhash_opts_free (opts);
}

/* A size that is set at the end needs a file that can be written at any offset:
 * no pipe, and no O_APPEND.
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
assert_bad_fd (int fd)
{
  const uint64_t sizes[] = { SIZE, BLKHASH_SIZE_UNKNOWN };

  for (int i = 0; i < 2; i++) {
    errno = 0;
    assert_null (blkhash_manifest_writer_new (NULL, sizes[i], fd));
    assert_int_equal (errno, EBADF);
  }
  errno = 0;
  assert_null (blkhash_manifest_writer_new_part (NULL, SIZE, 0, 1, fd));
  assert_int_equal (errno, EBADF);
}

/* A descriptor that cannot be written is refused before anything is hashed. */
static void
test_bad_fd (void **state)
{
  int fd = open ("/dev/null", O_RDONLY);

  (void) state;
  assert_int_not_equal (fd, -1);
  assert_bad_fd (fd);
  assert_bad_fd (-1);
  close (fd);
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

/* Short and interrupted writes write the same manifest. */
static void
test_short_writes (void **state)
{
  static unsigned char whole[4096], parts[sizeof whole];
  struct blkhash_leaves *l = full_table (0);
  int fd = temporary (), other = temporary ();
  ssize_t len;

  (void) state;
  give (l);
  assert_int_equal (blkhash_leaves_save (l, fd, NULL, NULL), 0);
  write_max = 7;
  assert_int_equal (blkhash_leaves_save (l, other, NULL, NULL), 0);
  write_max = 0;
  len = pread (fd, whole, sizeof whole, 0);
  assert_in_range (len, MANIFEST_HEADER_SIZE, sizeof whole - 1);
  assert_int_equal (pread (other, parts, sizeof parts, 0), len);
  assert_memory_equal (whole, parts, len);
  close (fd);
  close (other);
  blkhash_leaves_free (l);
}

/* If the size is unknown, pwrite writes the header last.  If that fails, no
 * reader accepts the file.
 */
static void
test_header_errors (void **state)
{
  static const int results[][4] = {
    { 0 }, { EINTR, -5, EINTR }, { EIO }, { EINTR, ENOSPC }, { -20, EIO }
  };
  static const int expected[] = { 0, 0, EIO, ENOSPC, EIO };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof results / sizeof results[0]; i++) {
    int fd = temporary ();
    struct blkhash_manifest_writer *w =
      blkhash_manifest_writer_new (NULL, BLKHASH_SIZE_UNKNOWN, fd);
    struct blkhash_leaf_sink sink = blkhash_manifest_writer_sink (w);
    struct blkhash_manifest_reader *r;

    assert_int_equal (sink.zero (sink.opaque, 0, 2), 0);
    pwrite_results = results[i];
    assert_int_equal (blkhash_manifest_writer_finish (w, 2 * BLOCK, NULL,
                                                      NULL), expected[i]);
    assert_int_equal (*pwrite_results, 0);
    pwrite_results = NULL;
    blkhash_manifest_writer_free (w);
    assert_int_equal (lseek (fd, 0, SEEK_SET), 0);
    r = blkhash_manifest_reader_new (fd, 0, NULL, 0);
    assert_true ((r == NULL) == (expected[i] != 0));
    blkhash_manifest_reader_free (r);
    close (fd);
  }
}

/* If the header is written last, a pipe is refused when the writer is created,
 * and not at the end.  A file is accepted, whatever errno was before.
 */
static void
test_header_of_pipe (void **state)
{
  int fd = temporary (), fds[2];
  struct blkhash_manifest_writer *w;

  (void) state;
  errno = EDOM;                 /* left by an earlier call */
  w = blkhash_manifest_writer_new (NULL, BLKHASH_SIZE_UNKNOWN, fd);
  assert_non_null (w);
  blkhash_manifest_writer_free (w);
  close (fd);
  assert_int_equal (pipe (fds), 0);
  errno = 0;
  assert_null (blkhash_manifest_writer_new (NULL, BLKHASH_SIZE_UNKNOWN,
                                            fds[1]));
  assert_int_equal (errno, ESPIPE);
  close (fds[0]);
  close (fds[1]);
}

/* Saving computes the sum, and does not change the table or call its sink. */
static void
test_save (void **state)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE], saved[BLKHASH_MAX_MD_SIZE];
  struct blkhash_leaves *l = full_table (0);
  int calls = 0, fd = temporary ();
  struct blkhash_leaf_sink sink = {
    .data = count_data, .zero = count_zero, .opaque = &calls
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
  assert_int_equal (calls, 0);
  assert_int_equal (lseek (fd, 0, SEEK_CUR), lseek (fd, 0, SEEK_END));
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
  assert_memory_equal (md, saved, LEAF);
  assert_int_equal (calls, 4);
  blkhash_leaves_free (l);

  l = full_table (BLKHASH_LEAVES_ONCE);
  give (l);
  assert_int_equal (blkhash_leaves_save (l, fd, NULL, NULL), EINVAL);
  assert_int_equal (blkhash_leaves_fold (l, md, NULL), 0);
  blkhash_leaves_free (l);
  l = blkhash_leaves_new (NULL, BLKHASH_SIZE_UNKNOWN, 0);
  assert_int_equal (blkhash_leaves_save (l, fd, NULL, NULL), ENODATA);
  /* No manifest can have this size; the error is returned before hashing. */
  assert_int_equal (blkhash_leaves_set_size (l, UINT64_MAX), 0);
  assert_int_equal (blkhash_leaves_zero (l, UINT64_MAX, 0), 0);
  alarm (300);
  assert_int_equal (blkhash_leaves_save (l, fd, NULL, NULL), EINVAL);
  alarm (0);
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
  assert_not_loaded (r);
  assert_int_equal (blkhash_manifest_reader_sum (r, md, NULL), ENODATA);
  while (blkhash_manifest_reader_next (r, &run) == 0)
    ;
  assert_int_equal (blkhash_manifest_reader_next (r, &run), ENOENT);
  assert_int_equal (blkhash_manifest_reader_sum (r, md, NULL), 0);
  assert_not_loaded (r);
  blkhash_manifest_reader_free (r);

  /* A table is not loaded if the sum is not verified. */
  r = new_reader (fd, BLKHASH_MANIFEST_NO_SUM);
  assert_not_loaded (r);
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

/* No reader is created, and the reason is truncated to fit into the buffer. */
static void
test_read_errors (void **state)
{
  int fd = temporary ();

  (void) state;
  assert_no_reader (-1, 0, EBADF, strerror (EBADF));
  assert_no_reader (fd, 4, EINVAL, strerror (EINVAL));
  assert_no_reader (fd, 0, EBADMSG,
                    "too short to be a blkhash manifest");
  assert_int_equal (pwrite (fd, image, 512, 0), 512);
  assert_no_reader (fd, 0, EBADMSG, "not a blkhash manifest");
  close (fd);
}

/* Write a manifest of zeros with a wrong sum. */
static int
zeros_manifest (uint64_t size)
{
  unsigned char bytes[512 + 24 + 24 + LEAF] = { 0 };
  unsigned char *record = bytes + 512, *end = record + 24;
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  const struct manifest_header header = {
    .opts = opts, .size = size, .count = size / BLOCK
  };
  int fd = temporary ();

  manifest_header_print (&header, bytes);
  manifest_put (record + 8, header.count | MANIFEST_ZERO_RUN, 8);
  manifest_put (record + 16, crc32c (0, record, 16), 4);
  manifest_put (end, MANIFEST_END, 8);
  manifest_put (end + 8, header.count, 8);
  manifest_put (end + 16 + LEAF,
                crc32c (crc32c (0, bytes, 512), end, 16 + LEAF), 4);
  assert_int_equal (write (fd, bytes, sizeof bytes), sizeof bytes);
  blkhash_opts_free (opts);
  return fd;
}

/* A run of zeros is returned before it is folded, which would take weeks. */
static void
test_run_before_sum (void **state)
{
  const uint64_t size = UINT64_C (1) << 63;
  int fd = zeros_manifest (size);
  struct blkhash_manifest_reader *r;
  struct blkhash_manifest_run run;

  (void) state;
  r = new_reader (fd, 0);
  alarm (300);
  assert_int_equal (blkhash_manifest_reader_next (r, &run), 0);
  alarm (0);
  assert_int_equal (run.count, size / BLOCK);
  blkhash_manifest_reader_free (r);
  close (fd);
}

/* A loaded table can be counted, folded and changed like any other. */
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

/* Check that the file is not a valid manifest, for the reason WHY, after BYTE
 * was written at OFFSET; and that it is one after the byte was restored.
 */
static void
assert_invalid (int fd, off_t offset, unsigned char byte, int err,
                const char *why)
{
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  unsigned char old;

  assert_int_equal (pread (fd, &old, 1, offset), 1);
  lseek (fd, offset, SEEK_SET);
  assert_int_equal (write (fd, &byte, 1), 1);
  lseek (fd, 0, SEEK_SET);
  assert_int_equal (manifest_validate (fd, reason, sizeof reason), err);
  assert_string_equal (reason, why);
  lseek (fd, offset, SEEK_SET);
  assert_int_equal (write (fd, &old, 1), 1);
  lseek (fd, 0, SEEK_SET);
  assert_int_equal (manifest_validate (fd, reason, sizeof reason), 0);
}

/* Write a wrong sum, with a valid CRC, to the manifest in FD of SIZE bytes. */
static void
write_wrong_sum (int fd, off_t size)
{
  unsigned char header[MANIFEST_HEADER_SIZE], crc[4];
  unsigned char end[MANIFEST_HEAD_SIZE + LEAF];
  off_t start = size - MANIFEST_TAIL_SIZE - sizeof end;

  assert_int_equal (pread (fd, header, sizeof header, 0), sizeof header);
  assert_int_equal (pread (fd, end, sizeof end, start), sizeof end);
  end[MANIFEST_HEAD_SIZE] ^= 1;
  manifest_put (crc, crc32c (crc32c (0, header, sizeof header), end,
                             sizeof end), sizeof crc);
  lseek (fd, start, SEEK_SET);
  assert_int_equal (write (fd, end, sizeof end), sizeof end);
  assert_int_equal (write (fd, crc, sizeof crc), sizeof crc);
}

/* A file is a manifest if all but its sum is valid. */
static void
test_validate (void **state)
{
  struct blkhash_leaves *l = full_table (0);
  char reason[BLKHASH_MAX_REASON_SIZE] = "";
  int fd = temporary (), fds[2];
  off_t size;

  (void) state;
  give (l);
  assert_int_equal (blkhash_leaves_save (l, fd, NULL, NULL), 0);
  blkhash_leaves_free (l);
  size = lseek (fd, 0, SEEK_END);

  assert_invalid (fd, 0, 'B', EBADMSG, "not a blkhash manifest");
  assert_invalid (fd, strlen (MANIFEST_MAGIC), '2', ENOTSUP,
                  "unsupported version");
  assert_invalid (fd, MANIFEST_HEADER_SIZE + MANIFEST_HEAD_SIZE, 0, EBADMSG,
                  "the record at byte 512 has a wrong CRC");
  write_wrong_sum (fd, size);
  lseek (fd, 0, SEEK_SET);
  assert_int_equal (manifest_validate (fd, reason, sizeof reason), 0);
  assert_int_equal (ftruncate (fd, size - 1), 0);
  lseek (fd, 0, SEEK_SET);
  assert_int_equal (manifest_validate (fd, reason, sizeof reason), EBADMSG);
  assert_string_equal (reason, "the manifest is cut off");
  close (fd);

  assert_int_equal (pipe (fds), 0);
  assert_int_equal (manifest_validate (fds[1], reason, sizeof reason), EBADF);
  assert_string_equal (reason, strerror (EBADF));
  close (fds[0]);
  close (fds[1]);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_writer_misused),
    cmocka_unit_test (test_sum),
    cmocka_unit_test (test_unknown_size),
    cmocka_unit_test (test_bad_fd),
    cmocka_unit_test (test_write_errors),
    cmocka_unit_test (test_short_writes),
    cmocka_unit_test (test_header_errors),
    cmocka_unit_test (test_header_of_pipe),
    cmocka_unit_test (test_save),
    cmocka_unit_test (test_reader_misused),
    cmocka_unit_test (test_read_errors),
    cmocka_unit_test (test_run_before_sum),
    cmocka_unit_test (test_load),
    cmocka_unit_test (test_validate),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
