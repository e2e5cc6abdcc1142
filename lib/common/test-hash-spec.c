/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the parser of hash specs.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "blkhash.h"
#include "common/hash-spec.h"
#include "common/sums.h"

static void
parses (const char *text, const char *digest, uint32_t block_size,
        unsigned streams, bool linear)
{
  struct hash_spec spec;

  assert_int_equal (hash_spec_parse (text, &spec), 0);
  assert_string_equal (spec.digest, digest);
  assert_int_equal (spec.block_size, block_size);
  assert_int_equal (spec.streams, streams);
  assert_int_equal (spec.linear, linear);
  assert_int_equal (hash_spec_is_complete (&spec), block_size != 0);
}

static void
test_parse (void **state)
{
  (void) state;
  parses ("sha256", "sha256", 0, 0, false);
  parses ("nosuch", "nosuch", 0, 0, false);
  parses ("sha256/64k", "sha256", 65536, 0, false);
  parses ("SHA512/512K", "SHA512", 512 * 1024, 0, false);
  parses ("md5/4", "md5", 4, 0, false);
  parses ("md5/5000", "md5", 5000, 0, false);
  parses ("blake2b-256/16m/s64", "blake2b-256", 16 << 20, 64, false);
  parses ("sha256/4m/linear", "sha256", 4 << 20, 0, true);
  parses ("SHA256/4M/LINEAR", "SHA256", 4 << 20, 0, true);
  parses ("sha256/4k/S9", "sha256", 4096, 9, false);
  /* The first is the name of a digest of OpenSSL; the second is sha512 with a
   * block size of 256 bytes.
   */
  parses ("SHA2-512/256", "SHA2-512/256", 0, 0, false);
  parses ("sha512/256", "sha512", 256, 0, false);
}

static void
test_bad (void **state)
{
  static const char *const bad[] = {
    "", "/", "/64k", "sha256/", "sha256/0", "sha256/k", "sha256/-1",
    "sha256/64x", "sha256/64kk", "sha256/64k/", "sha256/64k/s", "sha256 ",
    "sha256/64k/s0", "sha256/64k/64", "sha256/64k/s64 ", "sha256/64k/linea",
    "sha256/64k/linear/s64", "sha256/64k/s64/linear", "sha256//s64",
    "sha256/s64", " sha256", "sha256\n", "sh\xc3\xa4/64k", "sha256/ 64k",
    "sha256/+64k", "sha256/0x40",
    "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz/64k",
  };
  struct hash_spec spec;

  (void) state;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_int_equal (hash_spec_parse (bad[i], &spec), EINVAL);
}

static struct blkhash_opts *
opts_of (const char *text)
{
  struct blkhash_opts *defaults = blkhash_opts_new ("md5"), *opts;
  struct hash_spec spec;

  blkhash_opts_set_block_size (defaults, 4096);
  blkhash_opts_set_streams (defaults, 3);
  blkhash_opts_set_threads (defaults, 7);
  assert_int_equal (hash_spec_parse (text, &spec), 0);
  opts = hash_spec_opts (&spec, defaults);
  blkhash_opts_free (defaults);
  return opts;
}

/* SIZE is that of the digest, in bytes.  If TEXT has no block size, the block
 * size and the number of streams are those of DEFAULTS in opts_of.
 */
static void
has_opts (const char *text, const char *digest, uint32_t block_size,
          unsigned streams, unsigned size)
{
  struct blkhash_opts *opts = opts_of (text);

  assert_non_null (opts);
  assert_string_equal (blkhash_opts_get_digest_name (opts), digest);
  assert_int_equal (blkhash_opts_get_block_size (opts), block_size);
  assert_int_equal (blkhash_opts_get_streams (opts), streams);
  assert_int_equal (blkhash_opts_get_threads (opts), 7);
  assert_int_equal (blkhash_opts_get_digest_size (opts), size);
  blkhash_opts_free (opts);
}

static void
test_opts (void **state)
{
  (void) state;
  has_opts ("SHA256", "sha256", 4096, 3, 32);
  has_opts ("sha512/64k", "sha512", 65536, 0, 64);
  has_opts ("sha1/4/s1024", "sha1", 4, 1024, 20);
  has_opts ("SHA2-512/256", "sha512-256", 4096, 3, 32);
  has_opts ("null/16m", "null", 16 << 20, 0, 0);
}

static void
has_error (const char *text, int err)
{
  assert_null (opts_of (text));
  assert_int_equal (errno, err);
}

static void
test_no_opts (void **state)
{
  (void) state;
  has_error ("sha257", EINVAL);
  has_error ("sha257/64k", EINVAL);
  has_error ("sha256/2", EDOM);
  has_error ("sha256/5000", EDOM);
  has_error ("sha256/32m", EDOM);
  has_error ("sha256/1g", EDOM);
  has_error ("sha256/4194304g", EDOM);
  has_error ("sha256/4294967300", EDOM);
  has_error ("sha256/18446744073709617152", EDOM);
  has_error ("sha256/64k/s1025", ENOTSUP);
  has_error ("sha256/64k/s4294967300", ENOTSUP);
}

/* The tag that sum_line prints contains the hash spec of the options. */
static void
test_written (void **state)
{
  static const char *const specs[] = {
    "sha256/64k", "md5/4", "sha1/512", "sha512/16m", "sha3-256/1m/s64",
    "sha512-256/1k/s1",
  };

  (void) state;
  for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
    struct blkhash_opts *opts = opts_of (specs[i]);
    char *line = sum_line (opts, NULL, 0, NULL, true, false);

    assert_memory_equal (line, "blk-", 4);
    assert_memory_equal (line + 4, specs[i], strlen (specs[i]));
    assert_string_equal (line + 4 + strlen (specs[i]), " = ");
    free (line);
    blkhash_opts_free (opts);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_parse),
    cmocka_unit_test (test_bad),
    cmocka_unit_test (test_opts),
    cmocka_unit_test (test_no_opts),
    cmocka_unit_test (test_written),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
