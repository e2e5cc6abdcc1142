/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test that the end of the stream of a compressed cluster is found.  The
 * streams of each type decompress to 4096 times 'U', and are complete, or
 * truncated at each byte.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/qcow2-check.h"

#define CLUSTER 4096

/* Written by Python's zlib; RFC 1951. */
#define DEFLATED \
  "\xed\xc1\x01\x0d\x00\x00\x00\xc2\xa0\x94\xef\x5f\xc5\x1e\x0e\x28\x00\x00" \
  "\x00\xe0\xdd\x00"
/* The first 21 bytes decompress to all of the output.  No block is marked as
 * the last one.
 */
#define WITHOUT_END \
  "\xec\xc1\x01\x0d\x00\x00\x00\xc2\xa0\x94\xef\x5f\xc5\x1e\x0e\x28\x00\x00" \
  "\x00\xe0\xdd\x00\x00\x00\xff\xff"
#define EMPTY_LAST_BLOCK "\x03\x00"

/* Written by hand; RFC 8878.  FRAME_N is the header of a frame with N bytes of
 * content, FRAME_OF_CHECKSUM that of a frame with 4096 bytes of content and a
 * CHECKSUM at the end.  FRAME_128M is a header without the size of the content.
 * U_N is the last block of a frame, with N times 'U'; MORE_U_N is the same, but
 * not the last block.  SKIPPED is a skippable frame.
 */
#define FRAME_4096 "\x28\xb5\x2f\xfd\x60\x00\x0f"
#define FRAME_2048 "\x28\xb5\x2f\xfd\x60\x00\x07"
#define FRAME_128M "\x28\xb5\x2f\xfd\x00\x88" /* window size 128 MiB */
#define FRAME_OF_CHECKSUM "\x28\xb5\x2f\xfd\x64\x00\x0f"
#define U_4096 "\x03\x80\x00U"
#define U_2048 "\x03\x40\x00U"
#define MORE_U_2048 "\x02\x40\x00U"
#define LAST_OF_3 "\x19\x00\x00UUU" /* the last block: 3 stored bytes */
#define CHECKSUM "\x85\x73\x9e\xd9" /* the low half of XXH64 */
#define SKIPPED "\x50\x2a\x4d\x18\x03\x00\x00\x00xyz"

static bool without_memory;     /* zlib and libzstd get no memory */

#ifdef HAVE_ZLIB
int __real_inflateInit2_ (void *stream, int bits, const char *version,
                          int size);
int __wrap_inflateInit2_ (void *stream, int bits, const char *version,
                          int size);

int
__wrap_inflateInit2_ (void *stream, int bits, const char *version, int size)
{
  return without_memory ? -4    /* Z_MEM_ERROR */
                        : __real_inflateInit2_ (stream, bits, version, size);
}
#endif

#ifdef HAVE_ZSTD
void *__real_ZSTD_createDCtx (void);
void *__wrap_ZSTD_createDCtx (void);

void *
__wrap_ZSTD_createDCtx (void)
{
  return without_memory ? NULL : __real_ZSTD_createDCtx ();
}
#endif

static int
check (unsigned type, const void *stream, size_t len, size_t size,
       size_t *used)
{
  /* The buffers have exactly these lengths, so that ASan and valgrind detect
   * accesses beyond them.
   */
  unsigned char *in = malloc (len ? len : 1), *out = malloc (size);
  int r;

  assert_non_null (in);
  assert_non_null (out);
  memcpy (in, stream, len);
  r = qcow2_stream_check (type, in, len, out, size, used);
  if (r == QCOW2_STREAM_COMPLETE)
    for (size_t i = 0; i < size; i++)
      assert_int_equal (out[i], 'U');
  free (in);
  free (out);
  return r;
}

static void
requires (unsigned type)
{
  size_t used;

  if (check (type, "", 0, CLUSTER, &used) == QCOW2_STREAM_NO_LIBRARY)
    skip ();
}

/* The LEN bytes at STREAM are exactly the stream of a cluster: no byte is
 * missing, and none is left over.
 */
static void
complete (unsigned type, const char *stream, size_t len)
{
  char longer[5000];
  size_t used;

  for (size_t cut = 0; cut < len; cut++)
    assert_int_equal (check (type, stream, cut, CLUSTER, &used),
                      QCOW2_STREAM_INCOMPLETE);
  assert_int_equal (check (type, stream, len, CLUSTER, &used),
                    QCOW2_STREAM_COMPLETE);
  assert_int_equal (used, len);

  /* Bytes after the stream have no effect. */
  for (int fill = 0; fill < 256; fill += 5) {
    memset (longer, fill, sizeof longer);
    memcpy (longer, stream, len);
    assert_int_equal (check (type, longer, sizeof longer, CLUSTER, &used),
                      QCOW2_STREAM_COMPLETE);
    assert_int_equal (used, len);
  }
  assert_int_equal (check (type, stream, len, CLUSTER + 1, &used),
                    QCOW2_STREAM_INCOMPLETE);
  assert_int_equal (check (type, stream, len, CLUSTER - 1, &used),
                    QCOW2_STREAM_INCOMPLETE);
}

static void
incomplete (unsigned type, const char *stream, size_t len)
{
  size_t used;

  assert_int_equal (check (type, stream, len, CLUSTER, &used),
                    QCOW2_STREAM_INCOMPLETE);
}

#define COMPLETE(type, stream) complete (type, stream, sizeof stream - 1)
#define INCOMPLETE(type, stream) incomplete (type, stream, sizeof stream - 1)

static void
test_zlib (void **state)
{
  (void) state;

  requires (QCOW2_ZLIB);
  COMPLETE (QCOW2_ZLIB, DEFLATED);
  INCOMPLETE (QCOW2_ZLIB, "\xff" DEFLATED);
  INCOMPLETE (QCOW2_ZLIB, FRAME_4096 U_4096);

  INCOMPLETE (QCOW2_ZLIB, WITHOUT_END);
  COMPLETE (QCOW2_ZLIB, WITHOUT_END EMPTY_LAST_BLOCK);
}

/* Streams of blocks that are stored, not compressed. */
static void
test_zlib_stored (void **state)
{
  char stream[2 * 2053 + 2];

  (void) state;

  requires (QCOW2_ZLIB);
  for (char *block = stream; block < stream + 2 * 2053; block += 2053) {
    memcpy (block, "\x00\x00\x08\xff\xf7", 5);
    memset (block + 5, 'U', 2048);
  }
  memcpy (stream + 2 * 2053, "\x03\x00", 2);
  complete (QCOW2_ZLIB, stream, sizeof stream);
  stream[2053] = 1;             /* mark the second block as the last one */
  complete (QCOW2_ZLIB, stream, 2 * 2053);
}

static void
test_zstd (void **state)
{
  (void) state;

  requires (QCOW2_ZSTD);
  COMPLETE (QCOW2_ZSTD, FRAME_4096 U_4096);
  COMPLETE (QCOW2_ZSTD, FRAME_4096 MORE_U_2048 U_2048);
  COMPLETE (QCOW2_ZSTD, FRAME_2048 U_2048 FRAME_2048 U_2048);
  COMPLETE (QCOW2_ZSTD, SKIPPED FRAME_4096 U_4096);
  COMPLETE (QCOW2_ZSTD, FRAME_128M U_4096);
  COMPLETE (QCOW2_ZSTD, FRAME_2048 U_2048 SKIPPED FRAME_2048 U_2048);
  COMPLETE (QCOW2_ZSTD, FRAME_OF_CHECKSUM U_4096 CHECKSUM);

  INCOMPLETE (QCOW2_ZSTD, FRAME_4096 MORE_U_2048 MORE_U_2048);
  INCOMPLETE (QCOW2_ZSTD, FRAME_4096 MORE_U_2048 LAST_OF_3);
  INCOMPLETE (QCOW2_ZSTD, FRAME_2048 U_2048);
  INCOMPLETE (QCOW2_ZSTD, FRAME_2048 U_2048 SKIPPED);
  INCOMPLETE (QCOW2_ZSTD, FRAME_OF_CHECKSUM U_4096 "\0\0\0\0");
  INCOMPLETE (QCOW2_ZSTD, FRAME_4096 "\x07\x80\x00U"); /* reserved type */
  INCOMPLETE (QCOW2_ZSTD, DEFLATED);
}

static void
test_memory (void **state)
{
  const unsigned types[] = { QCOW2_ZLIB, QCOW2_ZSTD };
  size_t used;

  (void) state;
  without_memory = true;
  for (size_t i = 0; i < 2; i++) {
    int r = check (types[i], DEFLATED, sizeof DEFLATED - 1, CLUSTER, &used);

    if (r != QCOW2_STREAM_NO_LIBRARY)
      assert_int_equal (r, QCOW2_STREAM_NO_MEMORY);
  }
  without_memory = false;
}

static void
test_unknown_type (void **state)
{
  size_t used;

  (void) state;

  assert_int_equal (check (2, DEFLATED, sizeof DEFLATED, CLUSTER, &used),
                    QCOW2_STREAM_NO_LIBRARY);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_zlib),
    cmocka_unit_test (test_zlib_stored),
    cmocka_unit_test (test_zstd),
    cmocka_unit_test (test_memory),
    cmocka_unit_test (test_unknown_type),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
