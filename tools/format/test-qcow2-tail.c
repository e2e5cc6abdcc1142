/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test, with generated files, that a compressed cluster whose length passes the
 * end of the file is accepted only if its stream is complete.
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
#include "format/test-format.h"

#ifdef HAVE_ZLIB
#define WITH_ZLIB 1
#else
#define WITH_ZLIB 0
#endif

/* A deflate stream and a zstd frame.  Each decompresses to 4096 times 'U'; see
 * test-qcow2-stream.c.
 */
#define DEFLATED \
  "\xed\xc1\x01\x0d\x00\x00\x00\xc2\xa0\x94\xef\x5f\xc5\x1e\x0e\x28\x00\x00" \
  "\x00\xe0\xdd\x00"
#define LEN (sizeof DEFLATED - 1)
#define FRAME "\x28\xb5\x2f\xfd\x60\x00\x0f\x03\x80\x00U"
#define FRAME_LEN (sizeof FRAME - 1)
/* A deflate block without output, and not the last block of its stream. */
#define EMPTY_BLOCK "\x00\x00\x00\xff\xff"

static unsigned char bytes[100000];
static struct file opened;
static struct imagefile file;
static struct qcow2 qcow2;
static struct qcow2_tail tail;
static FILE *f;

static int
setup (void **state)
{
  (void) state;

  memset (bytes, 0xee, sizeof bytes);
  f = tmpfile ();
  file = test_image (&opened, f, sizeof bytes);
  qcow2 = (struct qcow2) { .version = 3, .cluster_bits = 12 };
  return 0;
}

static int
teardown (void **state)
{
  (void) state;

  fclose (f);
  return 0;
}

/* Make FILE the first SIZE bytes of BYTES, and forget all earlier checks. */
static void
begin (uint64_t size)
{
  qcow2_tail_destroy (&tail);
  file.size = size;
  assert_int_equal (pwrite (fileno (f), bytes, size, file.start), size);
  assert_int_equal (ftruncate (fileno (f), file.start + size), 0);
  qcow2_tail_init (&tail, &file, &qcow2);
}

/* Check the cluster at OFFSET, whose length in the L2 entry is 8192 bytes.
 * Returns the error, or "" if there is none.
 */
static const char *
check (uint64_t offset)
{
  static struct error error;

  error.text[0] = '\0';
  if (qcow2_tail_check (&tail, offset, 8192, &error) == -1)
    assert_true (error_is_set (&error));
  else
    assert_false (error_is_set (&error));
  return error.text;
}

static void
assert_bad (uint64_t offset, const char *reason)
{
  const char *text = check (offset);

  if (!strstr (text, reason))
    assert_string_equal (text, reason);
}

static void
put (uint64_t offset, const char *stream, size_t len)
{
  memcpy (bytes + offset, stream, len);
}

/* The stream is before, across or after the sector boundary at 20480.  The file
 * ends with the stream, one byte after it, within it, or where it begins.
 */
static void
test_cut (void **state)
{
  (void) state;

  for (uint64_t at = 20480 - LEN - 5; at < 20480 + 5; at++) {
    put (at, DEFLATED, LEN);
    begin (at + LEN);
    assert_string_equal (check (at), "");
    begin (at + LEN + 1);
    assert_string_equal (check (at), "");
    begin (at + LEN - 1);
    assert_bad (at, "truncated or corrupt: the compressed cluster at offset "
                "20");
    begin (at + 1);
    assert_bad (at, "is not complete where the file ends (20");
    begin (at);
    assert_bad (at, "a compressed cluster at offset 20");
  }
}

/* Several clusters end in the last sector.  They are checked out of order. */
static void
test_shared_sector (void **state)
{
  const uint64_t at = 20000;

  (void) state;

  for (int i = 0; i < 3; i++)
    put (at + i * LEN, DEFLATED, LEN);
  begin (at + 3 * LEN);
  assert_string_equal (check (at + LEN), "");
  assert_string_equal (check (at), "");
  assert_string_equal (check (at + 2 * LEN), "");
  begin (at + 3 * LEN - 1);
  assert_string_equal (check (at), "");
  assert_bad (at + 2 * LEN, "not complete");
  assert_string_equal (check (at + LEN), "");
  assert_bad (at + LEN + 1, "not complete");
}

/* The tail (see qcow2-check.h) is two clusters, or the whole file if that is
 * smaller.
 */
static void
test_sizes (void **state)
{
  (void) state;

  put (0, DEFLATED, LEN);
  begin (LEN);
  assert_string_equal (check (0), "");
  begin (LEN - 1);
  assert_bad (0, "not complete");
  put (10000, DEFLATED, LEN);
  begin (10000 + 8191);
  assert_string_equal (check (10000), "");

  /* The stream has 4096 bytes of content, but clusters have 8192 or 2048. */
  qcow2.cluster_bits = 13;
  begin (10000 + 8191);
  assert_bad (10000, "not complete");
  qcow2.cluster_bits = 11;
  begin (10000 + 4095);
  assert_bad (10000, "not complete");
}

static void
test_start (void **state)
{
  (void) state;

  file.start = 1000;
  put (20000, DEFLATED, LEN);
  begin (20000 + LEN);
  assert_string_equal (check (20000), "");
  file.size--;
  qcow2_tail_destroy (&tail);
  qcow2_tail_init (&tail, &file, &qcow2);
  assert_bad (20000, "not complete");
}

static void
test_type (void **state)
{
  (void) state;

  put (20000, DEFLATED, LEN);
  put (20000 + LEN, FRAME, FRAME_LEN);
  qcow2.compression = QCOW2_ZSTD;
  begin (20000 + LEN + FRAME_LEN);
#ifdef HAVE_ZSTD
  assert_string_equal (check (20000 + LEN), "");
  assert_bad (20000, "not complete");
#else
  assert_bad (20000 + LEN, "without zstd");
#endif
  qcow2.compression = QCOW2_ZLIB;
  begin (20000 + LEN + FRAME_LEN);
  assert_string_equal (check (20000), "");
  assert_bad (20000 + LEN, "not complete");
  qcow2.compression = 2;
  assert_bad (20000 + LEN, "(type 2)");
}

/* An offset that many entries share is checked once.  The streams at different
 * offsets must not be longer, in total, than the tail.
 */
static void
test_work (void **state)
{
  const size_t blocks = 200;
  uint64_t at = 20000;
  size_t i;

  (void) state;

  for (i = 0; i < blocks; i++)
    put (at + i * 5, EMPTY_BLOCK, 5);
  put (at + i * 5, DEFLATED, LEN);
  begin (at + i * 5 + LEN);
  for (i = 0; i < 100000; i++)
    assert_string_equal (check (at), "");
  for (i = 1; i < blocks && *check (at + i * 5) == '\0'; i++)
    ;
  /* The 9 streams 0 to 8 have 9018 bytes, but the tail has only 8192. */
  assert_int_equal (i, 8);
  assert_bad (at + blocks * 5, "overlap");
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown (test_cut, setup, teardown),
    cmocka_unit_test_setup_teardown (test_shared_sector, setup, teardown),
    cmocka_unit_test_setup_teardown (test_sizes, setup, teardown),
    cmocka_unit_test_setup_teardown (test_start, setup, teardown),
    cmocka_unit_test_setup_teardown (test_type, setup, teardown),
    cmocka_unit_test_setup_teardown (test_work, setup, teardown),
  };
  int r;

  if (!WITH_ZLIB) {
    puts ("SKIP: test-qcow2-tail: built without zlib");
    return 77;
  }
  r = cmocka_run_group_tests (tests, NULL, NULL);
  qcow2_tail_destroy (&tail);
  return r;
}
