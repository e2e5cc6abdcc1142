/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the extents of a file, and how often lseek is called for them.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/file.h"
#include "util/error.h"

#ifdef SEEK_HOLE

#define BLOCKS 64
#define BLOCK 4096              /* bytes */
#define ROUNDS 200

/* The file that our lseek simulates. */
static struct {
  bool hole[BLOCKS];
  uint64_t size;                /* current size, bytes */
  int err;                      /* errno value of each lookup; 0: it succeeds */
  unsigned lookups;
} disk;

static unsigned seed = 1;

static off_t
fail_with (int err)
{
  errno = err;
  return -1;
}

/* Find data or a hole.  As in Linux, there is a hole at the end of the file. */
static off_t
look (off_t offset, bool hole)
{
  disk.lookups++;
  if (disk.err)
    return fail_with (disk.err);
  if (offset >= disk.size)
    return fail_with (ENXIO);
  while (offset < disk.size && disk.hole[offset / BLOCK] != hole)
    offset = (offset / BLOCK + 1) * BLOCK;
  if (offset < disk.size)
    return offset;
  return hole ? (off_t) disk.size : fail_with (ENXIO);
}

off_t __wrap_lseek (int fd, off_t offset, int whence);
off_t __wrap_lseek64 (int fd, off_t offset, int whence);

off_t
__wrap_lseek (int fd, off_t offset, int whence)
{
  (void) fd;
  switch (whence) {
  case SEEK_DATA:
  case SEEK_HOLE:
    return look (offset, whence == SEEK_HOLE);
  case SEEK_END:
    return disk.size;
  }
  return fail_with (EINVAL);
}

off_t
__wrap_lseek64 (int fd, off_t offset, int whence)
{
  return __wrap_lseek (fd, offset, whence);
}

/* ---- The disk ---- */

static struct file
make_file (void)
{
  bool hole = rand_r (&seed) % 2;

  for (unsigned i = 0; i < BLOCKS; i++) {
    disk.hole[i] = hole;
    hole ^= rand_r (&seed) % 4 == 0;
  }
  disk.size = BLOCKS * BLOCK;
  disk.err = 0;
  disk.lookups = 0;
  return (struct file) { .fd = -1, .data.fd = -1, .size = disk.size };
}

/* Check that EXTENT contains AT and has the right end.  The last extent can end
 * at UINT64_MAX instead of the size.  Returns the end of the extent in DISK.
 */
static uint64_t
check_extent (const struct file_extent *extent, uint64_t at)
{
  uint64_t end = at - at % BLOCK;

  assert_true (extent->start <= at);
  assert_int_equal (extent->hole, disk.hole[at / BLOCK]);
  while (end < disk.size && disk.hole[end / BLOCK] == extent->hole)
    end += BLOCK;
  if (end < disk.size || extent->end != UINT64_MAX)
    assert_int_equal (extent->end, end);
  return end;
}

static uint64_t
find (struct file_extent *extent, const struct file *file, uint64_t at)
{
  struct error error = { "" };

  assert_int_equal (file_extent_find (extent, file, at, &error), 0);
  return check_extent (extent, at);
}

/* ---- Tests ---- */

/* There is one lookup for each extent, and another one if the file starts with
 * a hole.
 */
static void
test_walk (void **state)
{
  (void) state;
  for (int i = 0; i < ROUNDS; i++) {
    struct file file = make_file ();
    struct file_extent extent = { NULL };
    unsigned extents = 0;

    for (uint64_t at = 0; at < file.size; extents++)
      at = find (&extent, &file, at);
    assert_int_equal (disk.lookups, extents + disk.hole[0]);
  }
}

/* Offsets in the extent that was found last need no further lookup. */
static void
test_same (void **state)
{
  (void) state;
  for (int i = 0; i < ROUNDS; i++) {
    struct file file = make_file ();
    struct file_extent extent = { NULL };

    for (uint64_t at = 0; at < file.size; ) {
      uint64_t end = find (&extent, &file, at);
      unsigned before = disk.lookups;

      for (; at < end; at += 1 + rand_r (&seed) % BLOCK)
        find (&extent, &file, at);
      assert_int_equal (disk.lookups, before);
      at = end;
    }
  }
}

/* Data that does not follow data needs only the lookup of its end. */
static void
test_jump (void **state)
{
  struct file file = make_file ();
  struct file_extent extent = { NULL };

  (void) state;
  for (int i = 0; i < BLOCKS; i++)
    disk.hole[i] = i == 2;
  find (&extent, &file, 0);
  find (&extent, &file, 5 * BLOCK);
  assert_int_equal (disk.lookups, 2);
}

static void
test_anywhere (void **state)
{
  (void) state;
  for (int i = 0; i < ROUNDS; i++) {
    struct file file = make_file (), other = file;
    struct file_extent extent = { NULL };

    for (int n = 0; n < BLOCKS; n++)
      find (&extent, rand_r (&seed) % 2 ? &file : &other,
            rand_r (&seed) % file.size);
  }
}

/* If lookups fail, the whole file is data. */
static void
test_unknown (void **state)
{
  struct file file = make_file ();
  struct file_extent extent = { NULL };
  struct error error = { "" };

  (void) state;
  disk.err = EINVAL;
  assert_int_equal (file_extent_find (&extent, &file, BLOCK, &error), 0);
  assert_false (extent.hole);
  assert_true (extent.end == UINT64_MAX);
}

/* What was a hole when the data before it was looked up was written meanwhile:
 * it is data, and ends at the next hole.
 */
static void
test_written (void **state)
{
  struct file file = make_file ();
  struct file_extent extent = { NULL };

  (void) state;
  for (int i = 0; i < BLOCKS; i++)
    disk.hole[i] = i > 1;
  find (&extent, &file, 0);
  assert_int_equal (extent.end, 2 * BLOCK);
  disk.hole[2] = disk.hole[3] = false;
  find (&extent, &file, extent.end);
  assert_int_equal (extent.end, 4 * BLOCK);
}

static void
test_truncated (void **state)
{
  struct file file = make_file ();
  struct file_extent extent = { NULL };
  struct error error = { "" };

  (void) state;
  disk.size = BLOCK;
  assert_int_equal (file_extent_find (&extent, &file, 2 * BLOCK, &error), -1);
  assert_string_equal (error.text, "the file was truncated while it was read");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_walk),
    cmocka_unit_test (test_same),
    cmocka_unit_test (test_jump),
    cmocka_unit_test (test_anywhere),
    cmocka_unit_test (test_unknown),
    cmocka_unit_test (test_written),
    cmocka_unit_test (test_truncated),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}

#else

int
main (void)
{
  return 77;                    /* skip: without SEEK_HOLE all is data */
}

#endif
