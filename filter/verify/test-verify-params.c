/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: the parameters of the verify filter, the manifests and disks that
 * it refuses, and what clients see: the size, block size constraints and
 * extents.  The test prints its seed, which BLKHASH_SEED can set.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/util.h"
#include "../lib/common/zero.h"
#include "blkhash-manifest.h"
#include "verify/test-verify-nbdkit.h"
#include "verify/verify-params.h"

#define BLOCK 4096
#define BLOCKS 300
#define SIZE (BLOCKS * BLOCK - 100)

static char path[] = "/tmp/blkhash-test-XXXXXX";
static unsigned seed;
static struct plugin plugin;
static char *sum;               /* of the plugin's first SIZE bytes */

static unsigned
any (unsigned limit)            /* less than LIMIT */
{
  return rand_r (&seed) % limit;
}

static void
write_manifest (void)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");

  free (sum);
  blkhash_opts_set_block_size (opts, BLOCK);
  sum = manifest_of (opts, plugin.bytes, SIZE, path);
  blkhash_opts_free (opts);
}

/* ---- The server ---- */

#define MANIFEST "blkhash-verify-manifest", path
#define START(...) start (MANIFEST, __VA_ARGS__, NULL)

static void *
connect_client (int *prepared)
{
  void *handle = open_export ("");

  assert_non_null (handle);
  *prepared = filter->prepare (&plugin.next, handle, 0);
  return handle;
}

/* ---- Parameters ---- */

static void
assert_refused (const char *why)
{
  if (!strstr (last_error, why))
    fail_msg ("expected: %s\n     got: %s", why, last_error);
  assert_int_equal (errors, 1);
  errors = 0;
}

static void
assert_bad_value (const char *key, const char *value, const char *why)
{
  assert_int_equal (config (key, value), -1);
  assert_refused (why);
}

static void
test_values (void **state)
{
  (void) state;
  assert_int_equal (start (NULL, NULL), -1);
  assert_refused ("blkhash-verify-manifest is missing");
  unload ();
  assert_int_equal (start (MANIFEST, NULL), -1);
  assert_refused ("blkhash-verify-sum is missing; give the sum that proves "
                  "the manifest, or none to trust it");
  assert_int_equal (config ("file", "x"), 0);
  assert_string_equal (passed_on, "");
  assert_bad_value ("blkhash-verify-fail", "", "unknown value: ");
  assert_bad_value ("blkhash-verify-fail", "Error", "unknown value: Error");
  assert_bad_value ("blkhash-verify-size", "any", "unknown value: any");
  assert_bad_value ("blkhash-verify-zero", "no", "unknown value: no");
  assert_bad_value ("blkhash-verify-retry", "-1", "could not parse");
  assert_bad_value ("blkhash-verify-retry", "1001", "must be from 0 to 1000");
  unload ();

  assert_int_equal (START ("blkhash-verify-sum", "none",
                           "blkhash-verify-fail", "warn",
                           "blkhash-verify-size", "truncate",
                           "blkhash-verify-zero", "read",
                           "blkhash-verify-retry", "1000"), 0);
  assert_int_equal (verify_params.fail, FAIL_WARN);
  assert_true (verify_params.truncate);
  assert_int_equal (verify_params.zero, ZERO_READ);
  assert_int_equal (verify_params.retry, 1000);
  unload ();
  assert_int_equal (START ("file", "x", "blkhash-verify-sum", "none",
                           "blkhash-verify-fail", "stop",
                           "blkhash-verify-fail", "error", "x", "",
                           "blkhash-verify", "x",
                           "blkhash-verify-size", "exact",
                           "blkhash-verify-zero", "skip",
                           "blkhash-verify-retry", "0"), 0);
  assert_int_equal (verify_params.fail, FAIL_ERROR);
  assert_string_equal (passed_on, "file=x;x=;blkhash-verify=x;");
  unload ();
}

static void
test_twice (void **state)
{
  (void) state;
  assert_int_equal (START ("blkhash-verify-sum", "none"), 0);
  assert_int_equal (START ("blkhash-verify-sum", "none"), -1);
  assert_refused ("--filter=blkhash-verify can be given only once");
  filter->unload ();
  unload ();
}

static int
next_fd (void)
{
  int fd = dup (STDERR_FILENO);

  close (fd);
  return fd;
}

/* The filter closes the files that it opened, and no others.  No server may run
 * before this test: when a server ends, the filter's variables for descriptors
 * become -1, which would hide that they have a wrong initial value.
 */
static void
test_closed (void **state)
{
  int fd = next_fd ();

  (void) state;
  assert_int_equal (START ("blkhash-verify-sum", "none"), 0);
  assert_int_not_equal (next_fd (), fd);
  unload ();
  assert_int_equal (next_fd (), fd);
}

/* ---- The sum ---- */

/* Start the filter with each form of a sum that has the hex digits HEX.  Each
 * start must return EXPECTED.
 */
static void
start_with_sums (const char *hex, int expected)
{
  static const char *const formats[] = {
    "blk-sha256/4k = %s", "blk-sha256/4k (disk = 12.img) = %s",
    "blk-sha256/4k:%s",
    "\\blk-sha256/4k (a\\nb) = %s",
    "# a comment\n\nblk-sha256/4k (disk.img) = %s\r\n# another\n",
  };
  char text[500];
  size_t i;

  for (i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    snprintf (text, sizeof text, formats[i], hex);
    if (START ("blkhash-verify-sum", text) != expected)
      fail_msg ("%s: %s", text, last_error);
    if (expected == -1)
      assert_refused ("its sum is not blkhash-verify-sum");
    unload ();
  }
}

static void
test_sums (void **state)
{
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  static const struct {
    const char *text, *why;
  } none[] = {
    { "", "there is no sum" },
    { "# a comment\n", "there is no sum" },
    { "NONE", "it is not 'HEX'" },
    { "blk-sha256/4k", "it is not 'blk-DIGEST/SIZE (NAME) = HEX'" },
    { "blk-sha256/4k = ", "it is not 'blk-" },
    { "blk-sha256/4k = 12", "it has 2 digits, but sha256 sums have 64" },
    { "blk-sha256/4k  12", "it is not 'blk-" },
    { "blk-nothing = 12", "unknown digest 'nothing'" },
    { "blk-sha256/5k:12", "its block size is not" },
    { "sha256:" HEX, "it is the sum of a file; " },
    { "SHA256 (x) = " HEX, "it is the sum of a file; " },
    { HEX "\n" HEX, "there are two sums" },
    { HEX "  a\n# unknown a: 5 bytes were not read",
      "a line '# unknown' says that there is no sum" },
    { "# bad a: 5 bytes\n" HEX,
      "a line '# differs' says that the image is bad" },
  };
  char *hex = strdup (strrchr (sum, ' ') + 1), last, text[300];
  size_t i;

  (void) state;
  assert_int_equal (strlen (hex), 64);
  start_with_sums (hex, 0);
  for (i = 0; i < 64; i++)
    hex[i] = hex[i] >= 'a' ? hex[i] - 'a' + 'A' : hex[i];
  start_with_sums (hex, 0);
  last = hex[63];
  hex[63] = last == '7' ? '6' : '7';
  start_with_sums (hex, -1);
  hex[63] = last;
  hex[0] = hex[0] == '7' ? '6' : '7';
  start_with_sums (hex, -1);

  for (i = 0; i < sizeof none / sizeof none[0]; i++) {
    assert_int_equal (START ("blkhash-verify-sum", none[i].text), -1);
    assert_refused (none[i].why);
    unload ();
  }
  /* Too short, too long, and followed by a space. */
  snprintf (text, sizeof text, "%.*s", (int) strlen (sum) - 1, sum);
  assert_int_equal (START ("blkhash-verify-sum", text), -1);
  assert_refused ("it has 63 digits");
  unload ();
  snprintf (text, sizeof text, "%s0", sum);
  assert_int_equal (START ("blkhash-verify-sum", text), -1);
  assert_refused ("it has 65 digits");
  unload ();
  snprintf (text, sizeof text, "%s ", sum);
  assert_int_equal (START ("blkhash-verify-sum", text), -1);
  assert_refused ("it is not 'blk-");
  unload ();
  /* Without a tag it is of blksum's parameters, not of the manifest's. */
  assert_int_equal (START ("blkhash-verify-sum", hex), -1);
  assert_refused ("its digest, block size or construction is not that of "
                  "blkhash-verify-sum");
  unload ();
  /* Another block size or construction. */
  snprintf (text, sizeof text, "blk-sha256/64k:%s", hex);
  assert_int_equal (START ("blkhash-verify-sum", text), -1);
  assert_refused ("its digest, block size or construction is not that of "
                  "blkhash-verify-sum");
  unload ();
  snprintf (text, sizeof text, "blk-sha256/4k/linear:%s", hex);
  assert_int_equal (START ("blkhash-verify-sum", text), -1);
  assert_refused ("its digest, block size or construction is not that of "
                  "blkhash-verify-sum");
  unload ();
  free (hex);
}

static bool no_memory;          /* to parse a sum */

struct blkhash_opts *
__real_blkhash_opts_new (const char *digest);
struct blkhash_opts *
__wrap_blkhash_opts_new (const char *digest);

struct blkhash_opts *
__wrap_blkhash_opts_new (const char *digest)
{
  if (!no_memory)
    return __real_blkhash_opts_new (digest);
  errno = ENOMEM;
  return NULL;
}

static void
test_no_memory (void **state)
{
  (void) state;
  no_memory = true;
  assert_int_equal (START ("blkhash-verify-sum", sum), -1);
  assert_refused (strerror (ENOMEM));
  no_memory = false;
  unload ();
}

/* ---- The manifest ---- */

static void
assert_bad_manifest (const char *file, const char *with_sum, const char *why)
{
  assert_int_equal (start ("blkhash-verify-manifest", file,
                           "blkhash-verify-sum", with_sum, NULL), -1);
  assert_refused (why);
  if (!strstr (last_error, file))
    fail_msg ("no name: %s", last_error);
  unload ();
}

/* Write a manifest of zeros to FILE. */
static void
write_zeros (const char *file, const char *digest, uint64_t size)
{
  struct blkhash_opts *opts = blkhash_opts_new (digest);
  FILE *f = fopen (file, "w");
  struct blkhash_manifest_writer *w;
  struct blkhash_leaf_sink sink;

  assert_non_null (f);
  blkhash_opts_set_block_size (opts, 4);
  w = blkhash_manifest_writer_new (opts, size, fileno (f));
  assert_non_null (w);
  sink = blkhash_manifest_writer_sink (w);
  assert_int_equal (sink.zero (sink.opaque, 0, size / 4), 0);
  assert_int_equal (blkhash_manifest_writer_finish (w, size, NULL, NULL), 0);
  blkhash_manifest_writer_free (w);
  blkhash_opts_free (opts);
  fclose (f);
}

/* Change the size and the number of blocks in the header.  The CRC in the end
 * record becomes wrong, but the manifest is refused before the CRC is checked.
 */
static void
claim_size (const char *file, const char *size, const char *blocks)
{
  char header[512] = "";
  FILE *f = fopen (file, "r+");

  assert_non_null (f);
  snprintf (header, sizeof header, "blkhash-manifest 1\nsum: blk-sha256/4\n"
            "size: %s\nblocks: 0:%s\n", size, blocks);
  assert_int_equal (fwrite (header, 1, sizeof header, f), sizeof header);
  fclose (f);
}

static void
test_manifests (void **state)
{
  char file[] = "/tmp/blkhash-test-XXXXXX";
  int fd = mkstemp (file);

  (void) state;
  close (fd);
  assert_bad_manifest ("/nonexistent", "none", "No such file");
  assert_bad_manifest ("/", "none", "not a regular file");
  assert_bad_manifest ("/dev/null", "none", "not a regular file");
  assert_bad_manifest (file, "none", "too short to be a blkhash manifest");
  assert_bad_manifest (file, sum, "too short to be a blkhash manifest");
  write_zeros (file, "null", 4000);
  assert_bad_manifest (file, "none", "the digest null proves nothing");

  /* These manifests are refused without computing their sum, which would take
   * hours.
   */
  write_zeros (file, "sha256", 400);
  claim_size (file, "68719476740", "17179869185");
  assert_bad_manifest (file, "none", "it has too many blocks");
  assert_bad_manifest (file, "blk-sha256/4:"
                       "0000000000000000000000000000000000000000000000000000"
                       "000000000000", "it has too many blocks");
  claim_size (file, "18446744073709551614", "4611686018427387904");
  assert_bad_manifest (file, "none", "it has too many blocks");
  claim_size (file, "68719476736", "17179869184");
  assert_bad_manifest (file, "none", "blocks from 100 on are missing");
  claim_size (file, "404", "101");
  assert_bad_manifest (file, "none", "blocks from 100 on are missing");
  unlink (file);
  assert_int_equal (mkfifo (file, 0600), 0);
  assert_bad_manifest (file, "none", "not a regular file");
  unlink (file);
}

/* ---- Export names ---- */

static const char *
next_default_export (nbdkit_backend *nxdata, int readonly)
{
  (void) nxdata; (void) readonly;
  return "plugin's";
}

static int
next_list_exports (nbdkit_backend *nxdata, int readonly,
                   struct nbdkit_exports *exports)
{
  (void) nxdata; (void) readonly;
  return nbdkit_add_export (exports, "plugin's", NULL);
}

/* Clients can open the export NAME; and, unless MORE is set, no other one. */
static void
check_names (const char *key, const char *value, const char *export,
             const char *name, bool more)
{
  const char *export_key = export ? "blkhash-verify-export" : NULL;
  void *handle;

  assert_int_equal (START ("blkhash-verify-sum", "none", key, value,
                           export_key, export), 0);
  assert_string_equal (filter->default_export (next_default_export, NULL, 1,
                                               0), name);
  *listed = '\0';
  assert_int_equal (filter->list_exports (next_list_exports, NULL, 1, 0, NULL),
                    0);
  assert_string_equal (listed, name);
  handle = open_export (name);
  assert_non_null (handle);
  filter->close (handle);
  handle = open_export ("other");
  if (more) {
    assert_non_null (handle);
    filter->close (handle);
  }
  else {
    assert_null (handle);
    assert_refused ("clients can use only the export ");
  }
  unload ();
}

static void
test_names (void **state)
{
  (void) state;
  check_names ("blkhash-verify-fail", "warn", NULL, "plugin's", true);
  check_names ("blkhash-verify-fail", "stop", NULL, "", false);
  check_names ("blkhash-verify-fail", "stop", "", "", false);
  check_names ("blkhash-verify-fail", "stop", "name", "name", false);
  check_names ("blkhash-verify-fail", "warn", "name", "name", false);
}

/* ---- Connections ---- */

/* The plugin's disk has SIZE + MORE bytes.  If RIGHT is set, the connection
 * must be accepted, otherwise refused.
 */
static void
check_size (int more, bool truncate, bool right)
{
  int prepared;
  void *handle;

  plugin.size = SIZE + more;
  assert_int_equal (START ("blkhash-verify-sum", sum, "blkhash-verify-size",
                           truncate ? "truncate" : "exact"), 0);
  handle = connect_client (&prepared);
  assert_int_equal (prepared, right ? 0 : -1);
  if (right)
    assert_int_equal (filter->get_size (&plugin.next, handle), SIZE);
  else
    assert_refused ("blkhash-verify: the disk has ");
  filter->close (handle);
  unload ();
  plugin.size = SIZE;
}

static void
test_plugin_size (void **state)
{
  (void) state;
  check_size (0, false, true);
  check_size (-1, false, false);
  check_size (1, false, false);
  check_size (0, true, true);
  check_size (-1, true, false);
  check_size (100, true, true);
}

static void
check_constraints (uint32_t min, uint32_t preferred, uint32_t max,
                   uint32_t expected)
{
  uint32_t a = 0, b = 0, c = 0;
  int prepared;
  void *handle;

  plugin.min = min;
  plugin.preferred = preferred;
  plugin.max = max;
  handle = connect_client (&prepared);
  assert_int_equal (prepared, 0);
  assert_int_equal (filter->block_size (&plugin.next, handle, &a, &b, &c), 0);
  assert_int_equal (a, 1);
  assert_int_equal (b, expected);
  assert_int_equal (c, UINT32_MAX);
  filter->close (handle);
  plugin.min = plugin.preferred = plugin.max = 0;
}

static void
test_features (void **state)
{
  int prepared;
  void *handle;

  (void) state;
  assert_int_equal (START ("blkhash-verify-sum", sum), 0);
  handle = connect_client (&prepared);
  plugin.multi_conn = 0;
  assert_int_equal (filter->can_write (&plugin.next, handle), 0);
  assert_int_equal (filter->can_multi_conn (&plugin.next, handle), 1);
  assert_int_equal (filter->can_extents (&plugin.next, handle), 1);
  assert_int_equal (filter->can_cache (&plugin.next, handle),
                    NBDKIT_CACHE_NONE);
  filter->close (handle);
  check_constraints (0, 0, 0, BLOCK);
  check_constraints (1, 512, 65536, BLOCK);
  check_constraints (512, 65536, UINT32_MAX, 65536);
  unload ();

  assert_int_equal (START ("blkhash-verify-sum", "none",
                           "blkhash-verify-zero", "read",
                           "blkhash-verify-fail", "warn"), 0);
  handle = connect_client (&prepared);
  assert_int_equal (filter->can_extents (&plugin.next, handle), 0);
  assert_int_equal (filter->can_multi_conn (&plugin.next, handle), 0);
  plugin.multi_conn = 1;
  assert_int_equal (filter->can_multi_conn (&plugin.next, handle), 1);
  filter->close (handle);
  unload ();
}

/* ---- Extents ---- */

static uint32_t
type_of (uint64_t offset)
{
  uint64_t start = ROUND_DOWN (offset, (uint64_t) BLOCK);

  return is_zero (plugin.bytes + start, MIN (BLOCK, SIZE - start))
    ? NBDKIT_EXTENT_HOLE | NBDKIT_EXTENT_ZERO : 0;
}

static void
check_extents (void *handle, uint64_t offset, uint32_t count, uint32_t flags)
{
  struct nbdkit_extent room[BLOCKS];
  struct nbdkit_extents extents = { .max = BLOCKS, .extent = room };
  uint64_t at = offset, end;
  size_t i;
  int err = 0;

  assert_int_equal (filter->extents (&plugin.next, handle, count, offset,
                                     flags, &extents, &err), 0);
  assert_int_not_equal (extents.count, 0);
  assert_int_equal (extents.extent[0].offset, offset);
  for (i = 0; i < extents.count; i++) {
    end = at + room[i].length;
    /* No extent goes beyond the range of the request: see verify_extents. */
    assert_true (end <= offset + count);
    assert_true (end == offset + count || end % BLOCK == 0);
    for (; at < end; at = ROUND_DOWN (at, (uint64_t) BLOCK) + BLOCK)
      assert_int_equal (room[i].type, type_of (at));
    at = end;
  }
  if (flags & NBDKIT_FLAG_REQ_ONE)
    assert_int_equal (extents.count, 1);
  else
    assert_true (at == offset + count);
}

static void
test_extents (void **state)
{
  int prepared;
  void *handle;
  unsigned i;

  (void) state;
  assert_int_equal (START ("blkhash-verify-sum", sum), 0);
  handle = connect_client (&prepared);
  check_extents (handle, 0, SIZE, 0);
  check_extents (handle, SIZE - 1, 1, 0);
  for (i = 0; i < 2000; i++) {
    uint64_t offset = any (SIZE);

    check_extents (handle, offset, 1 + any (SIZE - offset),
                   any (2) ? NBDKIT_FLAG_REQ_ONE : 0);
  }
  filter->close (handle);
  unload ();
}

/* A request for extents fails if the manifest was changed, or if there are more
 * extents than nbdkit accepts.
 */
static void
test_extents_fail (void **state)
{
  struct nbdkit_extent room[3];
  struct nbdkit_extents extents = { .max = 3, .extent = room };
  int prepared, err = 0;
  void *handle;

  (void) state;
  assert_int_equal (START ("blkhash-verify-sum", sum), 0);
  handle = connect_client (&prepared);
  assert_int_equal (truncate (path, 1000), 0);
  assert_int_equal (filter->extents (&plugin.next, handle, SIZE, 0, 0,
                                     &extents, &err), -1);
  assert_int_equal (err, EIO);
  assert_refused ("has changed since nbdkit started");
  write_manifest ();
  err = 0;
  assert_int_equal (filter->extents (&plugin.next, handle, SIZE, 0, 0,
                                     &extents, &err), -1);
  assert_int_equal (err, ENOMEM);
  filter->close (handle);
  unload ();
}

/* With blkhash-verify-fail=stop, all requests fail after a bad block, even
 * those for extents.
 */
static void
test_stop (void **state)
{
  struct nbdkit_extent room[BLOCKS];
  struct nbdkit_extents extents = { .max = BLOCKS, .extent = room };
  int prepared, err = 0;
  char bytes[512];
  void *handle;

  (void) state;
  assert_int_equal (START ("blkhash-verify-sum", sum,
                           "blkhash-verify-fail", "stop"), 0);
  handle = connect_client (&prepared);
  assert_int_equal (filter->pread (&plugin.next, handle, bytes, 512, 0, 0,
                                   &err), 0);
  plugin.nr_faults = 1;
  plugin.faults[0] = (struct fault) {
    .kind = FAULT_FLIP, .start = BLOCK, .end = BLOCK + 1, .times = -1,
    .left = -1,
  };
  assert_int_equal (filter->pread (&plugin.next, handle, bytes, 512, BLOCK, 0,
                                   &err), -1);
  assert_int_equal (err, EIO);
  plugin.nr_faults = 0;
  err = 0;
  assert_int_equal (filter->pread (&plugin.next, handle, bytes, 512, 0, 0,
                                   &err), -1);
  assert_int_equal (err, EIO);
  err = 0;
  assert_int_equal (filter->extents (&plugin.next, handle, SIZE, 0, 0,
                                     &extents, &err), -1);
  assert_int_equal (err, EIO);
  assert_int_equal (errors, 1);
  filter->close (handle);
  unload ();
}

/* An empty disk. */
static void
test_empty (void **state)
{
  struct blkhash_opts *opts = blkhash_opts_new ("sha256");
  char *empty = manifest_of (opts, "", 0, path), named[200];
  int prepared;
  void *handle;

  (void) state;
  plugin.size = 0;
  assert_int_equal (START ("blkhash-verify-sum", empty), 0);
  handle = connect_client (&prepared);
  assert_int_equal (prepared, 0);
  assert_int_equal (filter->get_size (&plugin.next, handle), 0);
  filter->close (handle);
  unload ();
  /* The hash parameters are those of blksum. */
  assert_int_equal (START ("blkhash-verify-sum", strrchr (empty, ' ') + 1), 0);
  unload ();
  snprintf (named, sizeof named, "%s  disk.img\n", strrchr (empty, ' ') + 1);
  assert_int_equal (START ("blkhash-verify-sum", named), 0);
  unload ();
  free (empty);
  blkhash_opts_free (opts);
}

/* The disk has blocks of zeros and of data. */
static int
set_up (void **state)
{
  uint64_t i, n;
  int fd = mkstemp (path);

  (void) state;
  if (fd == -1 || close (fd) == -1)
    return -1;
  plugin_init (&plugin, SIZE + 1000);
  plugin.size = SIZE;
  plugin.bytes[0] = plugin.bytes[BLOCK] = 1;
  for (i = BLOCK; i < SIZE; i += n * BLOCK) {
    n = 1 + any (6);
    if (any (2))
      plugin.bytes[i + any (MIN (BLOCK, SIZE - i))] = 1;
  }
  write_manifest ();
  return 0;
}

static int
tear_down (void **state)
{
  (void) state;
  free (sum);
  plugin_destroy (&plugin);
  return unlink (path);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_closed), /* must be first */
    cmocka_unit_test (test_values),
    cmocka_unit_test (test_twice),
    cmocka_unit_test (test_sums),
    cmocka_unit_test (test_no_memory),
    cmocka_unit_test (test_manifests),
    cmocka_unit_test (test_names),
    cmocka_unit_test (test_plugin_size),
    cmocka_unit_test (test_features),
    cmocka_unit_test (test_stop),
    cmocka_unit_test (test_extents),
    cmocka_unit_test (test_extents_fail),
    cmocka_unit_test (test_empty),
  };

  seed = get_seed ();
  return cmocka_run_group_tests (tests, set_up, tear_down);
}
