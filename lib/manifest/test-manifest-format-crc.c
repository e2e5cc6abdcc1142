/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: CRC32C of published examples, such as those in RFC 3720, B.4, and
 * of other data, for which crc32c and crc32c_portable must agree.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "manifest/manifest-format.h"

static void
check_crc (const void *buf, size_t len, uint32_t expected)
{
  assert_int_equal (crc32c (0, buf, len), expected);
  assert_int_equal (crc32c_portable (0, buf, len), expected);
}

static void
test_published (void **state)
{
  static const unsigned char read_10[48] = {
    0x01, 0xc0, [16] = 0x14, [22] = 0x04, [27] = 0x14, [31] = 0x18,
    0x28, [40] = 0x02,
  };
  unsigned char buf[32];
  unsigned i;

  (void) state;
  check_crc ("", 0, 0);
  check_crc ("123456789", 9, 0xe3069283);
  memset (buf, 0, sizeof buf);
  check_crc (buf, sizeof buf, 0x8a9136aa);
  memset (buf, 0xff, sizeof buf);
  check_crc (buf, sizeof buf, 0x62a8ab43);
  for (i = 0; i < sizeof buf; i++)
    buf[i] = i;
  check_crc (buf, sizeof buf, 0x46dd794e);
  for (i = 0; i < sizeof buf; i++)
    buf[i] = 31 - i;
  check_crc (buf, sizeof buf, 0x113fdb5c);
  check_crc (read_10, sizeof read_10, 0xd9963a56);
}

/* Data of any length and alignment, added at once and in any two parts. */
static void
test_parts (void **state)
{
  unsigned char buf[64];
  size_t i, n, start;

  (void) state;
  for (i = 0; i < sizeof buf; i++)
    buf[i] = 7 * i + 1;
  for (start = 0; start < 9; start++)
    for (n = 0; n <= sizeof buf - start; n++) {
      uint32_t whole = crc32c_portable (0, buf + start, n);

      assert_int_equal (crc32c (0, buf + start, n), whole);
      for (i = 0; i <= n; i++)
        assert_int_equal (crc32c (crc32c (0, buf + start, i),
                                  buf + start + i, n - i), whole);
    }
}

/* Data so long that crc32c divides it into parts of 4096 bytes. */
static void
test_long (void **state)
{
  static unsigned char buf[5 * 3 * 4096 + 100];
  size_t i, n;

  (void) state;
  for (i = 0; i < sizeof buf; i++)
    buf[i] = i * i >> 3;
  for (n = 3 * 4096 - 9; n < sizeof buf; n += 1021)
    for (i = 0; i < 9; i += 4) {
      uint32_t whole = crc32c_portable (i, buf + i, n - i);

      assert_int_equal (crc32c (i, buf + i, n - i), whole);
      assert_int_equal (crc32c (crc32c (i, buf + i, 100), buf + i + 100,
                                n - i - 100), whole);
    }
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_published),
    cmocka_unit_test (test_parts),
    cmocka_unit_test (test_long),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
