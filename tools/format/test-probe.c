/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Test that an image's format is detected by its first or last bytes.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/probe.h"

#define TEXT "# Disk DescriptorFile\n  \nversion=1\r\n"
#define CLOOP "#!/bin/sh\n#V2.0 Format\nmodprobe cloop file=$0 && " \
  "mount -r -t iso9660 /dev/cloop $1\n"

struct example {
  const char *format;
  size_t offset;                /* offset of the magic */
  size_t size;                  /* size of the magic */
  size_t min;                   /* minimum number of bytes of the head; a
                                 * shorter head is detected as raw */
  const char *magic;
};

#define EXAMPLE(format, offset, min, magic) \
  { format, offset, sizeof magic - 1, min, magic }

static const struct example examples[] = {
  EXAMPLE ("qcow2", 0, 8, "QFI\xfb\0\0\0\2"),
  EXAMPLE ("qcow2", 0, 8, "QFI\xfb\0\0\0\3"),
  EXAMPLE ("qcow2", 0, 8, "QFI\xfb\0\0\1\0"),
  EXAMPLE ("qcow", 0, 8, "QFI\xfb\0\0\0\1"),
  EXAMPLE ("raw", 0, 0, "QFI\xfb\0\0\0\0"),
  EXAMPLE ("vmdk", 0, 4, "KDMV"),
  EXAMPLE ("vmdk", 0, 4, "COWD"),
  EXAMPLE ("vmdk", 0, sizeof TEXT - 1, TEXT),
  EXAMPLE ("vmdk", 0, 10, "version=3\n"),
  EXAMPLE ("raw", 0, 0, "version=4\n"),
  EXAMPLE ("raw", 0, 0, "version=1 "),
  EXAMPLE ("raw", 0, 0, "\nversion=1\n"),
  EXAMPLE ("raw", 0, 0, " x\nversion=1\n"),
  EXAMPLE ("vhdx", 0, 8, "vhdxfile"),
  EXAMPLE ("vdi", 64, 512, "\x7f\x10\xda\xbe"),
  EXAMPLE ("vpc", 0, 8, "conectix"),
  EXAMPLE ("qed", 0, 64, "QED\0"),
  EXAMPLE ("parallels", 0, 64, "WithoutFreeSpace\2\0\0\0"),
  EXAMPLE ("parallels", 0, 64, "WithouFreSpacExt\2\0\0\0"),
  EXAMPLE ("raw", 0, 0, "WithoutFreeSpace\3\0\0\0"),
  EXAMPLE ("luks", 0, 8, "LUKS\xba\xbe\0\1"),
  EXAMPLE ("manifest", 0, 17, "blkhash-manifest "),
  EXAMPLE ("luks2", 0, 8, "LUKS\xba\xbe\0\2"),
  EXAMPLE ("raw", 0, 0, "LUKS\xba\xbe\0\3"),
  EXAMPLE ("cloop", 0, sizeof CLOOP - 1, CLOOP),
  EXAMPLE ("raw", 0, 0, "\x7f" "ELF"),
};

static void
test_examples (void **state)
{
  (void) state;

  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
    const struct example *e = &examples[i];
    unsigned char head[PROBE_SIZE + 100] = { 0 };

    memcpy (head + e->offset, e->magic, e->size);
    assert_string_equal (probe_format (head, sizeof head), e->format);
    for (size_t len = 0; len < e->min; len++)
      assert_string_equal (probe_format (head, len), "raw");
    assert_string_equal (probe_format (head, e->min), e->format);
  }
}

static void
test_bochs (void **state)
{
  unsigned char head[PROBE_SIZE] = "Bochs Virtual HD Image";

  (void) state;

  strcpy ((char *) head + 32, "Redolog");
  strcpy ((char *) head + 48, "Growing");
  assert_string_equal (probe_format (head, sizeof head), "raw");
  head[66] = 1;
  assert_string_equal (probe_format (head, sizeof head), "bochs");
  assert_string_equal (probe_format (head, sizeof head - 1), "raw");
}

/* A container is detected by its whole magic, and by no byte less. */
static void
test_containers (void **state)
{
  static const struct example containers[] = {
    EXAMPLE ("gzip", 0, 3, "\x1f\x8b\x08"),
    EXAMPLE ("xz", 0, 6, "\xfd" "7zXZ\0"),
    EXAMPLE ("zstd", 0, 4, "\x28\xb5\x2f\xfd"),
    EXAMPLE ("bzip2", 0, 10, "BZh11AY&SY"),
    EXAMPLE ("bzip2", 0, 10, "BZh91AY&SY"),
    EXAMPLE ("zip", 0, 4, "PK\3\4"),
    EXAMPLE ("tar", 257, 262, "ustar"),
    EXAMPLE ("7z", 0, 6, "7z\xbc\xaf\x27\x1c"),
    EXAMPLE ("E01", 0, 8, "EVF\x09\x0d\x0a\xff\0"),
    EXAMPLE ("Android sparse", 0, 4, "\x3a\xff\x26\xed"),
  };

  (void) state;

  for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++) {
    const struct example *e = &containers[i];
    unsigned char head[PROBE_SIZE] = "";

    memcpy (head + e->offset, e->magic, e->size);
    assert_string_equal (probe_container (head, e->min), e->format);
    assert_string_equal (probe_container (head, sizeof head), e->format);
    assert_string_equal (probe_format (head, sizeof head), "raw");
    for (size_t len = 0; len < e->min; len++)
      assert_null (probe_container (head, len));
  }
  assert_null (probe_container ((const unsigned char *) "BZh01AY&SY", 10));
}

/* Heads of only comments or spaces.  No byte after the head is read. */
static void
test_unterminated (void **state)
{
  unsigned char head[PROBE_SIZE];

  (void) state;

  memset (head, '#', sizeof head);
  assert_string_equal (probe_format (head, sizeof head), "raw");
  memset (head, ' ', sizeof head);
  assert_string_equal (probe_format (head, sizeof head), "raw");
  head[sizeof head - 1] = '\n';
  assert_string_equal (probe_format (head, sizeof head), "raw");
}

static void
assert_end (const unsigned char *end, size_t len, const char *format,
            bool is_damaged)
{
  bool damaged;

  assert_string_equal (probe_end (end, len, &damaged), format);
  assert_int_equal (damaged, is_damaged);
}

static void
test_end (void **state)
{
  unsigned char end[PROBE_SIZE] = "koly\0\0\0\4\0\0\2";

  (void) state;

  assert_end (end, sizeof end, "dmg", false);
  for (size_t len = 0; len < sizeof end; len++)
    assert_end (end, len, "raw", false);
  for (size_t i = 0; i < 12; i++) {
    end[i] ^= 1;
    assert_end (end, sizeof end, "raw", false);
    end[i] ^= 1;
  }
}

/* The footer of a vpc of 512 or 511 bytes, and the same with each byte changed.
 */
static void
test_vpc_end (void **state)
{
  (void) state;

  for (size_t at = 0; at < 3; at++) {
    unsigned char end[PROBE_SIZE] = { 0 };
    /* The bytes of "conectix", and all others but the checksum. */
    uint32_t sum = 861 + (PROBE_SIZE - at - 12) * 0xe5;

    memset (end + at, 0xe5, PROBE_SIZE - at);
    memcpy (end + at, "conectix", 8);
    for (size_t i = 0; i < 4; i++)
      end[at + 64 + i] = ~sum >> (24 - 8 * i);
    assert_end (end, sizeof end, at < 2 ? "vpc" : "raw", false);
    for (size_t i = 0; at < 2 && i < sizeof end; i++) {
      bool outside = i < at, magic = i >= at && i < at + 8;

      end[i] ^= 1;
      assert_end (end, sizeof end, outside ? "vpc" : "raw",
                  !outside && !magic);
      end[i] ^= 1;
    }
    assert_end (end, sizeof end - 1, "raw", false);
  }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_examples),
    cmocka_unit_test (test_bochs),
    cmocka_unit_test (test_containers),
    cmocka_unit_test (test_unterminated),
    cmocka_unit_test (test_end),
    cmocka_unit_test (test_vpc_end),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
