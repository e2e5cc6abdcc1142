/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: a tag identifies the parameters of a hash, and has exactly one
 * valid spelling.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blkhash.h"

static void
check_tag (const char *text, const char *digest, uint32_t block_size,
           unsigned streams, int linear)
{
  struct blkhash_opts *opts = blkhash_opts_from_tag (text);
  char again[BLKHASH_MAX_TAG_SIZE];

  assert_non_null (opts);
  assert_string_equal (blkhash_opts_get_digest_name (opts), digest);
  assert_int_equal (blkhash_opts_get_block_size (opts), block_size);
  assert_int_equal (blkhash_opts_get_streams (opts), streams);
  assert_int_equal (blkhash_opts_get_linear (opts), linear);
  assert_int_equal (blkhash_opts_get_tag (opts, again, sizeof again), 0);
  assert_string_equal (again, text);
  blkhash_opts_free (opts);
}

static void
test_tags (void **state)
{
  (void) state;
  check_tag ("blk-sha256/64k", "sha256", 65536, 0, 0);
  check_tag ("blk-sha512-256/4", "sha512-256", 4, 0, 0);
  check_tag ("blk-md5/512/s1", "md5", 512, 1, 0);
  check_tag ("blk-sha1/16m/s1024", "sha1", 16 << 20, 1024, 0);
  check_tag ("blk-blake2b512/1m/linear", "blake2b512", 1 << 20, 0, 1);
  check_tag ("blk-null/1k", "null", 1024, 0, 0);
}

static void
test_others (void **state)
{
  static const char *const others[] = {
    "", "b", "blk", "blk-", "blk-/", "blk-sha256", "blk-sha256/", "sha256/64k",
    "blk-/64k", "blk-sha257/64k", "blk-SHA256/64k", "blk-SHA2-256/64k",
    "blk-sha2-256/64k", "BLK-sha256/64k", " blk-sha256/64k",
    "blk-sha256/64K", "blk-sha256/064k", "blk-sha256/65536", "blk-sha256/1024k",
    "blk-sha256/64kk", "blk-sha256/64k ", "blk-sha256/64k\n", "blk-sha256/-4k",
    "blk-sha256/+4k", "blk-sha256/k", "blk-sha256/0", "blk-sha256/2",
    "blk-sha256/3k", "blk-sha256/32m", "blk-sha256/1g", "blk-sha256/4294967300",
    "blk-sha256/18446744073709551620", "blk-sha256/4096m",
    "blk-sha256/64k/", "blk-sha256/64k/s", "blk-sha256/64k/s0",
    "blk-sha256/64k/s1025", "blk-sha256/64k/s01", "blk-sha256/64k/s4294967297",
    "blk-sha256/64k/s 1", "blk-sha256/64k/S1", "blk-sha256/64k/s1/linear",
    "blk-sha256/64k/linear/s1", "blk-sha256/64k/linear ", "blk-sha256/64k/l",
    "blk-sha256/64k/LINEAR", "blk-sha256/64k/flat", "blk-sha256/64k/s1x",
  };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof others / sizeof others[0]; i++) {
    errno = 0;
    if (blkhash_opts_from_tag (others[i]) != NULL)
      fail_msg ("'%s' is a tag", others[i]);
    assert_int_equal (errno, EINVAL);
  }
}

/* ---- Specs ---- */

static void
check_spec (const char *text, const char *tag)
{
  struct blkhash_opts *opts = blkhash_opts_from_spec (text);
  char got[BLKHASH_MAX_TAG_SIZE];

  if (!opts)
    fail_msg ("'%s' is not a spec", text);
  assert_int_equal (blkhash_opts_get_tag (opts, got, sizeof got), 0);
  assert_string_equal (got, tag);
  assert_int_equal (blkhash_opts_get_queue_depth (opts), 0);
  blkhash_opts_free (opts);
}

/* Everything that blksum --digest accepts. */
static void
test_specs (void **state)
{
  (void) state;
  check_spec ("sha256", "blk-sha256/64k");
  check_spec ("SHA256", "blk-sha256/64k");
  check_spec ("blk-md5", "blk-md5/64k");
  check_spec ("BLK-Sha2-256/65536", "blk-sha256/64k");
  check_spec ("sha256/1024K", "blk-sha256/1m");
  check_spec ("sha1/4/s1024", "blk-sha1/4/s1024");
  check_spec ("sha1/16M/S7", "blk-sha1/16m/s7");
  check_spec ("blk-SHA512/4m/Linear", "blk-sha512/4m/linear");
  check_spec ("SHA2-512/256", "blk-sha512-256/64k");
  check_spec ("blk-sha512/256", "blk-sha512/256");
  check_spec ("null/16m", "blk-null/16m");
}

static void
test_no_specs (void **state)
{
  static const char *const others[] = {
    "", "/", "blk-", "blk-/64k", "blk-blk-sha256", "sha257", "sha257/64k",
    "sha256/", "sha256/0", "sha256/2", "sha256/5000", "sha256/32m", "sha256/1g",
    "sha256/4294967300", "sha256/18446744073709617152", "sha256/64kib",
    "sha256/64k/", "sha256/64k/s0", "sha256/64k/s1025", "sha256/64k/flat",
    "sha256/64k/s4294967297", "sha256/64k/s1/linear", " sha256", "sha256 ",
    "sha256\n", "sha256/64k\n", "sha256/ 64k", "sha256/-4k", "sha256/+4k",
    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
  };

  (void) state;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    errno = 0;
    if (blkhash_opts_from_spec (others[i]) != NULL)
      fail_msg ("'%s' is a spec", others[i]);
    assert_int_equal (errno, EINVAL);
  }
  errno = 0;
  assert_null (blkhash_opts_from_spec (NULL));
  assert_int_equal (errno, EINVAL);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_tags),
    cmocka_unit_test (test_others),
    cmocka_unit_test (test_specs),
    cmocka_unit_test (test_no_specs),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
