/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: if there is no memory or no digest to examine the manifest of an
 * earlier server, or if it cannot be read, the server does not start, and the
 * manifest stays as it is.
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
#include <sys/stat.h>
#include <unistd.h>

#include <nbdkit-filter.h>

#include <cmocka.h>

#include "../lib/manifest/manifest-sum.h"
#include "blkhash/manifest-save.h"
#include "blkhash/params.h"
#include "blkhash/test-nbdkit.h"
#include "blkhash/test-sums.h"

#define BLOCK 4096
#define SIZE (100 * BLOCK - 7)

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char manifest[sizeof directory + 9];
static unsigned char bytes[SIZE];

static unsigned alloc_fails;    /* which of the next calls of malloc, calloc and
                                 * realloc fails; 0: none */
static unsigned read_fails;     /* the same for read, with read_error */
static int read_error;
static int zeros_error;         /* of manifest_zeros_hash; 0: none */

void *__real_malloc (size_t size);
void *__wrap_malloc (size_t size);
void *__real_calloc (size_t count, size_t size);
void *__wrap_calloc (size_t count, size_t size);
void *__real_realloc (void *memory, size_t size);
void *__wrap_realloc (void *memory, size_t size);
ssize_t __real_read (int fd, void *buf, size_t len);
ssize_t __wrap_read (int fd, void *buf, size_t len);
int __real_manifest_zeros_hash (struct manifest_zeros *zeros);
int __wrap_manifest_zeros_hash (struct manifest_zeros *zeros);

static bool
fails (void)
{
  if (alloc_fails == 0 || --alloc_fails > 0)
    return false;
  errno = ENOMEM;
  return true;
}

void *
__wrap_malloc (size_t size)
{
  return fails () ? NULL : __real_malloc (size);
}

void *
__wrap_calloc (size_t count, size_t size)
{
  return fails () ? NULL : __real_calloc (count, size);
}

void *
__wrap_realloc (void *memory, size_t size)
{
  return fails () ? NULL : __real_realloc (memory, size);
}

ssize_t
__wrap_read (int fd, void *buf, size_t len)
{
  if (read_fails == 0 || --read_fails > 0)
    return __real_read (fd, buf, len);
  errno = read_error;
  return -1;
}

int
__wrap_manifest_zeros_hash (struct manifest_zeros *zeros)
{
  return zeros_error ? zeros_error : __real_manifest_zeros_hash (zeros);
}

static off_t
size_of_manifest (void)
{
  struct stat st;

  assert_int_equal (stat (manifest, &st), 0);
  return st.st_size;
}

/* Open the manifest, and close it again.  If that fails, the message must have
 * WHY.  It must not say that the file is not a manifest: the user would remove
 * it.
 */
static int
open_manifest (const char *why)
{
  char expected[200];
  off_t size = size_of_manifest ();
  int r = manifest_open (true);

  if (r == -1) {
    sprintf (expected, "blkhash-manifest: cannot check that %s is a manifest: "
             "%s", manifest, why);
    assert_string_equal (last_error, expected);
  }
  manifest_stop ();
  assert_true (size_of_manifest () == size);
  return r;
}

static void
set_version (char version)
{
  FILE *f = fopen (manifest, "r+");

  assert_true (f && fseek (f, strlen ("blkhash-manifest "), SEEK_SET) == 0 &&
               putc (version, f) == version && fclose (f) == 0);
}

/* Each read of the manifest fails in turn.  The reader of manifests returns
 * ENOENT at the end of a valid manifest, which the server would empty, and
 * EBADMSG for a file that is not a manifest.  The errors of read must not be
 * taken for these.
 */
static void
test_not_read (void **state)
{
  static const int errors[] = { ENOENT, EBADMSG, ENODATA };
  unsigned i, k;

  (void) state;
  for (i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    read_error = errors[i];
    for (k = 1; read_fails == 0; k++) {
      int r;

      read_fails = k;
      r = open_manifest (strerror (EIO));
      assert_int_equal (r, read_fails == 0 ? -1 : 0);
    }
    read_fails = 0;
    assert_true (k > 3);        /* the header and the end were read */
  }
}

static void
test_not_examined (void **state)
{
  unsigned i, failures = 0;

  (void) state;
  for (i = 1; alloc_fails == 0; i++) {
    alloc_fails = i;
    failures += open_manifest (strerror (ENOMEM)) == -1;
  }
  alloc_fails = 0;
  assert_true (failures > 3);
  zeros_error = EIO;
  assert_int_equal (open_manifest (strerror (EIO)), -1);
  zeros_error = 0;
  set_version ('2');
  assert_int_equal (open_manifest ("unsupported version"), -1);
  set_version ('1');
  assert_int_equal (open_manifest (NULL), 0);
}

static int
set_up (void **state)
{
  (void) state;
  if (!mkdtemp (directory))
    return -1;
  sprintf (manifest, "%s/manifest", directory);
  /* Data and zeros. */
  for (unsigned i = 0; i < SIZE; i++)
    bytes[i] = i / BLOCK % 3 ? i / BLOCK : 0;
  disk = bytes;
  manifest_make (manifest, SIZE, BLOCK);
  params.manifest = manifest;
  return 0;
}

/* The last test, because cmocka ignores an error of the tear-down.  rmdir fails
 * if the filter left another file.
 */
static void
test_nothing_left (void **state)
{
  (void) state;
  unlink (manifest);
  assert_int_equal (rmdir (directory), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_not_read),
    cmocka_unit_test (test_not_examined),
    cmocka_unit_test (test_nothing_left),
  };

  return cmocka_run_group_tests (tests, set_up, NULL);
}
