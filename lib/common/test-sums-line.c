/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: how the lines of a list of checksums are parsed.
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

#include "common/sums.h"

#define HEX "0123456789abcdef0123456789ABCDEF"
#define MARK "\xef\xbb\xbf"

static char buffer[1024];

static struct sums_line
parse (const char *text)
{
  size_t len = strlen (text);
  struct sums_line line;

  assert_true (len < sizeof buffer);
  memcpy (buffer, text, len + 1);
  sums_line_parse (buffer, len, &line);
  return line;
}

static void
is_sum (const char *text, const char *spec, const char *name)
{
  struct sums_line line = parse (text);

  assert_int_equal (line.type, SUMS_SUM);
  assert_string_equal (line.hex, HEX);
  assert_string_equal (line.name, name);
  assert_int_equal (!line.spec, !spec);
  if (spec)
    assert_string_equal (line.spec, spec);
}

static void
is_type (enum sums_type type, const char *text)
{
  struct sums_line line = parse (text);

  if (line.type != type)
    fail_msg ("'%s' is of type %d, not %d", text, line.type, type);
  assert_int_equal (!line.why,
                    type != SUMS_DAMAGED && type != SUMS_UNKNOWN &&
                    type != SUMS_DIFFERS);
}

static void
test_plain (void **state)
{
  (void) state;
  is_sum (HEX "  name", NULL, "name");
  is_sum (HEX " *name", NULL, "name");
  is_sum (HEX "  name\r", NULL, "name");
  is_sum (" \t" HEX "  name", NULL, "name");
  is_sum (HEX "   two  words ", NULL, " two  words ");
  is_sum (HEX "  *", NULL, "*");
  is_sum (HEX "  -", NULL, "-");
  is_sum (HEX "  caf\xe9", NULL, "caf\xe9");
  /* Escapes in a name are decoded only if a backslash precedes the sum. */
  is_sum (HEX "  back\\slash", NULL, "back\\slash");
  is_sum ("\\" HEX "  back\\\\slash", NULL, "back\\slash");
  is_sum ("\\" HEX "  a\\nb\\rc\\\\n", NULL, "a\nb\rc\\n");
  is_sum (" \\" HEX " *\\\\", NULL, "\\");
}

static void
test_tagged (void **state)
{
  (void) state;
  is_sum ("blk-sha256/64k (name) = " HEX, "sha256/64k", "name");
  is_sum ("blk-md5/4/s64 (name) = " HEX "\r", "md5/4/s64", "name");
  is_sum ("  blk-x (name) = " HEX, "x", "name");
  is_sum ("blk-x ((a) = b) = " HEX, "x", "(a) = b");
  is_sum ("blk-x ()) = " HEX, "x", ")");
  is_sum ("blk-x (a (b) = " HEX, "x", "a (b");
  is_sum ("blk-x (a\\nb) = " HEX, "x", "a\\nb");
  is_sum ("\\blk-x (a\\nb) = " HEX, "x", "a\nb");
}

static void
test_nothing (void **state)
{
  (void) state;
  is_type (SUMS_NOTHING, "");
  is_type (SUMS_NOTHING, "\r");
  is_type (SUMS_NOTHING, "#");
  is_type (SUMS_NOTHING, "# a comment");
  is_type (SUMS_NOTHING, "# unknow x: y");
  /* A checksum in a comment is no checksum. */
  is_type (SUMS_NOTHING, "#" HEX "  name");
  is_type (SUMS_NOTHING, "# " HEX "  name");
}

static void
is_without_sum (enum sums_type type, const char *text, const char *name,
                const char *why)
{
  struct sums_line line = parse (text);

  assert_int_equal (line.type, type);
  assert_string_equal (line.name, name);
  assert_string_equal (line.why, why);
}

static void
test_unknown (void **state)
{
  (void) state;
  is_without_sum (SUMS_UNKNOWN, "# unknown a\\nb\\\\: c: why", "a\nb\\: c",
                  "why");
  is_without_sum (SUMS_UNKNOWN, "# unknown a: b: 4096 bytes at 0 cannot be "
                  "read: Input/output error", "a: b",
                  "4096 bytes at 0 cannot be read: Input/output error");
  is_without_sum (SUMS_UNKNOWN, "# unknown : cannot be read: x", "",
                  "cannot be read: x");
  is_without_sum (SUMS_UNKNOWN, "# unknown cannot be read: x", "cannot be read",
                  "x");
  is_without_sum (SUMS_UNKNOWN, "# unknown x: ", "x", "");
  /* If the name is escaped incorrectly, it is returned as it is. */
  is_without_sum (SUMS_UNKNOWN, "# unknown a\\nb\\x: why", "a\\nb\\x", "why");
  /* Old filters. */
  is_without_sum (SUMS_UNKNOWN, "# incomplete a: b: cannot read the rest: "
                  "Input/output error", "a: b",
                  "cannot read the rest: Input/output error");
  is_type (SUMS_NOTHING, "# unknown");
  is_type (SUMS_NOTHING, "# unknown x");
  is_type (SUMS_NOTHING, "# unknown: x");
  is_type (SUMS_NOTHING, "# incomplete x");
  is_type (SUMS_NOTHING, "#unknown x: why");
}

static void
test_differs (void **state)
{
  (void) state;
  is_without_sum (SUMS_DIFFERS, "# differs a\\nb: 5 bytes: c: 65536 bytes",
                  "a\nb: 5 bytes: c", "65536 bytes");
  is_without_sum (SUMS_DIFFERS, "# differs a\\\\b\\: 5 bytes", "a\\\\b\\",
                  "5 bytes");
  is_type (SUMS_DIFFERS, "# differs x: 0 bytes");
  is_type (SUMS_DIFFERS, "# differs x: 1 bytes\r");
  is_type (SUMS_DIFFERS, "# differs : 1 bytes");
  /* Old filters. */
  is_without_sum (SUMS_DIFFERS, "# bad x: 1 bytes", "x", "1 bytes");
  is_type (SUMS_NOTHING, "# differs x");
  is_type (SUMS_NOTHING, "# differs x: why");
  is_type (SUMS_NOTHING, "# differs x:  bytes");
  is_type (SUMS_NOTHING, "# differs x: 1 byte");
  is_type (SUMS_NOTHING, "# differs x: 1 bytes ");
  is_type (SUMS_NOTHING, "# differs x: -1 bytes");
  is_type (SUMS_NOTHING, "# differsx: 1 bytes");
  is_type (SUMS_NOTHING, "# bad x: why");
}

/* Digests of the content, in each form. */
static void
is_content (const char *text, const char *digest, const char *name)
{
  struct sums_line sum;

  assert_true (strlen (text) < sizeof buffer);
  strcpy (buffer, text);
  sums_line_parse_text (buffer, &sum);
  assert_int_equal (sum.type, SUMS_CONTENT);
  assert_string_equal (sum.spec, digest);
  assert_string_equal (sum.hex, HEX);
  assert_int_equal (!sum.name, !name);
  if (name) {
    assert_string_equal (sum.name, name);
    sum = parse (text);
    assert_int_equal (sum.type, SUMS_CONTENT);
    assert_string_equal (sum.name, name);
  }
}

static void
test_content (void **state)
{
  struct expected_sum expected;
  struct sums_line parsed;
  char reason[BLKHASH_MAX_REASON_SIZE], line[SUM_TEXT_SIZE], *formatted;

  (void) state;
  is_content ("content-sha256:" HEX, "sha256", NULL);
  is_content ("content-sha256 = " HEX "\r", "sha256", NULL);
  is_content (" content-sha3-256 (a (b) = c) = " HEX, "sha3-256", "a (b) = c");
  is_content ("\\content-md5 (a\\nb) = " HEX, "md5", "a\nb");

  parsed = parse ("content-MD5 (name) = " HEX);
  assert_int_equal (expected_sum_init (&expected, &parsed, NULL, reason), 0);
  assert_true (expected.content && expected.tagged);
  expected_sum_text (&expected, expected.md, line);
  assert_string_equal (line, "content-md5:0123456789abcdef0123456789abcdef");
  formatted = expected_sum_line (&expected, expected.md);
  assert_string_equal (formatted,
                       "content-md5 = 0123456789abcdef0123456789abcdef");
  free (formatted);
  expected_sum_destroy (&expected);
  assert_int_equal (expected_sum_parse (&expected, "content-md5:" HEX, NULL,
                                        reason), EINVAL);
  assert_non_null (strstr (reason, "digest of the content"));
}

static void
test_other (void **state)
{
  (void) state;
  is_type (SUMS_OTHER, "-----BEGIN PGP SIGNED MESSAGE-----");
  is_type (SUMS_OTHER, "Hash: SHA256");
  is_type (SUMS_OTHER, " # no comment");
  is_type (SUMS_OTHER, " ");
  is_type (SUMS_OTHER, "\\");
  is_type (SUMS_OTHER, "deadbeef");
  is_type (SUMS_OTHER, "deadbeef  name");
  is_type (SUMS_OTHER, "SHA256 (name) = " HEX);
  is_type (SUMS_OTHER, "SHA2-256(name)= " HEX);
  is_type (SUMS_OTHER, "sha256:" HEX);
  is_type (SUMS_OTHER, "content-type: text/plain");
  is_type (SUMS_OTHER, "content-length: 10");
  is_type (SUMS_OTHER,
           "iQIzBAEBCAAdFiEE5Xq2u9yWJ0o7d3pZz0kTqgqf1wYFAmNb8vQACgkQz0kTqgqf");
}

static void
test_damaged (void **state)
{
  static const char *const damaged[] = {
    HEX, HEX " ", HEX "  ", HEX " *", HEX " name", HEX "\tname", HEX "name",
    HEX "0", "blk-sha256/64k:" HEX, HEX ": 0123456789abcdef",
    "\\" HEX, "\\" HEX "  a\\", "\\" HEX "  a\\xb", "\\" HEX "  a\\b",
    "-----" HEX, "blk-", "blk-sha256/64k = " HEX, "blk-sha256/64k",
    "blk-sha256/64k (name)", "blk-sha256/64k (name) = ",
    "blk-sha256/64k (name) = x", "blk-sha256/64k (name) = " HEX "x",
    "blk-sha256/64k (name) = " HEX " ", "blk-sha256/64k () = " HEX,
    "blk-sha256/64k (name)= " HEX, "blk-sha256/64k (name = " HEX,
    "blk-sha256/64k ) = " HEX, "\\blk-x (a\\xb) = " HEX,
    "#123456789abcdef  name", "#123456789abcdef0123456789ABCDEF  name",
    "3" "23456789abcdef  ", "alk-sha256/64k (name) = " HEX,
    "Blk-sha256/64k (name) = " HEX,
    "content-sha256 (name) = ", "content-sha256 (name) = x" HEX,
    "content-sha256 (name = " HEX, "content-sha256 () = " HEX,
    "content-sha256 = " HEX, "content-sha256:" HEX, "content-sha256 " HEX,
    "content-sha256/64k (name) = " HEX, "Content-sha256 (name) = " HEX,
    "Content-sha256:" HEX, "content-sha256 =" HEX,
    MARK HEX "  name", MARK MARK HEX "  name", MARK "blk-",
    MARK "# unknown name: why",
  };

  (void) state;
  for (size_t i = 0; i < sizeof damaged / sizeof damaged[0]; i++)
    is_type (SUMS_DAMAGED, damaged[i]);
}

/* A checksum line in which one bit has flipped is still a checksum, perhaps of
 * another name, or it is damaged.  It is never skipped.
 */
static void
test_bits (void **state)
{
  static const char *const lines[] = {
    (HEX "  n"), "0123456789abcdef  n", ("blk-sha256/64k (n) = " HEX),
    "3333333333333333cccccccccccccccc  n", ("content-md5 (n) = " HEX),
    ("content-sha256 (n) = " HEX),
  };

  (void) state;
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
    for (size_t bit = 0; bit < 8 * strlen (lines[i]); bit++) {
      struct sums_line line;
      size_t len = strlen (lines[i]);

      memcpy (buffer, lines[i], len + 1);
      buffer[bit / 8] ^= 1 << bit % 8;
      if (buffer[bit / 8] == '\n' || buffer[bit / 8] == '\0')
        continue;
      sums_line_parse (buffer, len, &line);
      if (line.type != SUMS_SUM && line.type != SUMS_CONTENT &&
          line.type != SUMS_DAMAGED)
        fail_msg ("bit %zu of '%s'", bit, lines[i]);
    }
}

static void
parse_text (const char *text, struct sums_line *sum)
{
  assert_true (strlen (text) < sizeof buffer);
  strcpy (buffer, text);
  sums_line_parse_text (buffer, sum);
}

static void
is_text (const char *text, const char *spec, const char *name)
{
  struct sums_line sum;

  parse_text (text, &sum);
  if (sum.type != SUMS_SUM)
    fail_msg ("'%s': %s", text, sum.why);
  assert_string_equal (sum.hex, HEX);
  assert_int_equal (!sum.spec, !spec);
  if (spec)
    assert_string_equal (sum.spec, spec);
  assert_int_equal (!sum.name, !name);
  if (name)
    assert_string_equal (sum.name, name);
}

/* A text with one sum, in each form. */
static void
test_text (void **state)
{
  (void) state;
  is_text (HEX, NULL, NULL);
  is_text (HEX "\r", NULL, NULL);
  is_text (HEX "\r\n", NULL, NULL);
  is_text (" \t" HEX "\n\n", NULL, NULL);
  is_text ("\\" HEX, NULL, NULL);
  is_text (HEX "  name", NULL, "name");
  is_text (HEX " *name\r\n", NULL, "name");
  is_text ("\\" HEX "  a\\nb\n", NULL, "a\nb");
  is_text ("blk-sha256/64k (a = b) = " HEX, "sha256/64k", "a = b");
  is_text ("\\blk-x (a\\rb) = " HEX "\r\n", "x", "a\rb");
  is_text ("blk-sha256/64k = " HEX, "sha256/64k", NULL);
  is_text ("blk-sha256/64k = " HEX "\r", "sha256/64k", NULL);
  is_text ("blk-md5/4k/s64:" HEX "\n", "md5/4k/s64", NULL);
  is_text ("# one\n\n#two\n" HEX "  name\n# bad sectors\n", NULL, "name");
}

static void
test_text_refused (void **state)
{
  static const char two[] = "there are two sums", none[] = "there is no sum";
  static const char differs[] = "a line '# differs' says that the image is bad";
  static const char unknown[] = "a line '# unknown' says that there is no sum";
  static const char file[] = "it is the sum of a file; ";
  static const char tagged[] = "it is not 'blk-DIGEST/SIZE (NAME) = HEX'";
  static const char plain[] = "it is not 'HEX  NAME'";
  static const char other[] = "it is not 'HEX' or";
  static const struct {
    const char *text, *why;
  } texts[] = {
    { "", none }, { "\n", none }, { "\r\n", none }, { "# " HEX "\n", none },
    { HEX "\n" HEX, two }, { HEX "  a\n" HEX "  a\n", two },
    { "blk-x:" HEX "\n\nblk-x:" HEX, two },
    { HEX "\n# unknown a: b", unknown },
    { "# incomplete a: b\n" HEX, unknown },
    { HEX "\n# bad a: 1 bytes", differs },
    { "# differs a: 1 bytes", differs }, { "sha256:" HEX, file },
    { "SHA256 (a) = " HEX, file }, { "sha256 = " HEX "\n", file },
    { "SHA2-256(a)= " HEX, file }, { "blake3:" HEX, file },
    { HEX " ", plain }, { HEX " a", plain }, { HEX "\r\r", plain },
    { "\r" HEX, plain }, { "sha256/64k:" HEX, plain },
    { HEX ": 0123456789abcdef", plain }, { HEX "  ", "it has no name" },
    { "blk-x () = " HEX, "it has no name" },
    { "\\" HEX "  \\a", "its name has" },
    { "0123456789abcde", "its sum is too short" }, { "deadbeef", other },
    { "deadbeef  a", other }, { "none", other }, { " ", other },
    { "\\", other },
    { HEX "\ntext", other }, { "text\n" HEX, other }, { ":" , other },
    { "sha256:", other }, { "sha256:12", other }, { "sha256 " HEX, plain },
    { "blk-", tagged }, { "blk-x:", tagged }, { "blk-x = ", tagged },
    { "blk-x = " HEX " ", tagged }, { "blk-x: " HEX, tagged },
    { "blk-x =" HEX, tagged }, { "blk-x:y:" HEX, tagged },
    { "blk-x:" HEX "  name", tagged }, { "blk-x (a) = b:" HEX, tagged },
    { "blk-x (" HEX, tagged }, { "blk-x " HEX, tagged },
    { MARK HEX, "it begins with a UTF-8 byte order mark" },
  };
  struct sums_line sum;

  (void) state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    parse_text (texts[i].text, &sum);
    if (sum.type != SUMS_DAMAGED)
      fail_msg ("'%s' is of type %d", texts[i].text, sum.type);
    if (strncmp (sum.why, texts[i].why, strlen (texts[i].why)) != 0)
      fail_msg ("'%s': %s", texts[i].text, sum.why);
  }
}

/* ---- blkhash_sum_parse ---- */

/* TAG is NULL for a sum without a tag. */
static void
parses (const char *text, const char *tag, const char *name)
{
  static const unsigned char expected[16] = {
    0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
    0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
  };
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  char reason[BLKHASH_MAX_REASON_SIZE] = "", got[BLKHASH_MAX_TAG_SIZE];
  char *copy = (char *) 1;
  struct blkhash_opts *opts = (struct blkhash_opts *) 1;
  unsigned len = 0;

  if (blkhash_sum_parse (text, &opts, md, &len, &copy, reason, sizeof reason))
    fail_msg ("'%s': %s", text, reason);
  assert_int_equal (len, sizeof expected);
  assert_memory_equal (md, expected, sizeof expected);
  assert_int_equal (!opts, !tag);
  if (tag) {
    assert_int_equal (blkhash_opts_get_tag (opts, got, sizeof got), 0);
    assert_string_equal (got, tag);
  }
  assert_int_equal (!copy, !name);
  if (name)
    assert_string_equal (copy, name);
  blkhash_opts_free (opts);
  free (copy);

  assert_int_equal (blkhash_sum_parse (text, &opts, md, NULL, NULL, NULL, 0),
                    0);
  blkhash_opts_free (opts);
}

static void
test_sum_parse (void **state)
{
  (void) state;
  parses (HEX, NULL, NULL);
  parses (HEX "  a b\r\n", NULL, "a b");
  parses (HEX " *a", NULL, "a");
  parses ("\\" HEX "  a\\n\\\\", NULL, "a\n\\");
  parses ("blk-md5/4k (a) b) = " HEX "\n", "blk-md5/4k", "a) b");
  parses ("blk-MD5/4K/S7 = " HEX, "blk-md5/4k/s7", NULL);
  parses ("blk-md5/65536/linear:" HEX, "blk-md5/64k/linear", NULL);
  parses ("blk-md5:" HEX, "blk-md5/64k", NULL);
  parses ("# text\n\n" HEX "  \xff\n", NULL, "\xff");
}

static void
test_sum_parse_refused (void **state)
{
  static const struct {
    const char *text, *why;
  } texts[] = {
    { "", "there is no sum" }, { HEX "\n" HEX, "there are two sums" },
    { "blk-md5/4k:" HEX "0", "it has " }, { HEX "0", "no sum has 33 digits" },
    { HEX HEX HEX HEX "00", "no sum has 130 digits" },
    { "blk-nosuch/4k:" HEX, "unknown digest 'nosuch'" },
    { "blk-md5/5000:" HEX, "its block size is not a power of two from 4" },
    { "blk-md5/4k/s1025:" HEX, "it has more than 1024 streams" },
    { "blk-md5/4k/x:" HEX, "its tag is not of the form blk-DIGEST/SIZE" },
    { "# unknown a: b", "a line '# unknown' says that there is no sum" },
    { "sha256:" HEX, "it is the sum of a file; " },
    { "content-md5:" HEX, "it is a digest of the content; blk-" },
  };
  unsigned char md[BLKHASH_MAX_MD_SIZE] = { 1 };

  (void) state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    char reason[BLKHASH_MAX_REASON_SIZE] = "", cut[7] = "";
    char *name = (char *) 1;
    struct blkhash_opts *opts = (struct blkhash_opts *) 1;
    unsigned len = 77;

    assert_int_equal (blkhash_sum_parse (texts[i].text, &opts, md, &len, &name,
                                         reason, sizeof reason), EINVAL);
    if (strncmp (reason, texts[i].why, strlen (texts[i].why)) != 0)
      fail_msg ("'%s': %s", texts[i].text, reason);
    assert_null (opts);
    assert_null (name);
    assert_int_equal (md[0], 1);
    assert_int_equal (len, 77);
    assert_int_equal (blkhash_sum_parse (texts[i].text, &opts, md, &len, &name,
                                         cut, sizeof cut), EINVAL);
    assert_memory_equal (cut, reason, sizeof cut - 1);
    assert_int_equal (cut[sizeof cut - 1], 0);
  }
}

/* Each character of a name can need two characters in a line. */
static void
test_escape (void **state)
{
  char *escaped = sum_line_escape ("\n\r\\\n");

  (void) state;
  assert_string_equal (escaped, "\\n\\r\\\\\\n");
  free (escaped);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_plain),
    cmocka_unit_test (test_tagged),
    cmocka_unit_test (test_nothing),
    cmocka_unit_test (test_unknown),
    cmocka_unit_test (test_differs),
    cmocka_unit_test (test_content),
    cmocka_unit_test (test_other),
    cmocka_unit_test (test_damaged),
    cmocka_unit_test (test_bits),
    cmocka_unit_test (test_text),
    cmocka_unit_test (test_text_refused),
    cmocka_unit_test (test_sum_parse),
    cmocka_unit_test (test_sum_parse_refused),
    cmocka_unit_test (test_escape),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
