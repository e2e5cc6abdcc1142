/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: an export whose disk was changed through another name so often
 * that the log of changes does not have all of them.  No old content is in the
 * sum.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "blkhash/test-nbdkit.h"
#include "blkhash/test-result.h"

#define BLOCK 4096
#define SIZE (1000 * BLOCK + 1)

/* Changes of COUNT blocks, which are not adjacent. */
static void
change_blocks (unsigned count)
{
  struct client *reader = client_open ("reader");
  struct client *writer = client_open ("writer");

  assert_int_equal (client_read (reader, SIZE, 0), 0);
  for (unsigned i = 0; i < count; i++)
    assert_int_equal (client_write (writer, 1 + i % 255, 5, 2 * i * BLOCK, 0),
                      0);
  assert_int_equal (client_flush (writer), 0);
  client_disconnect (reader);
  assert_true (result_has_sum ("reader"));
  client_disconnect (writer);
  assert_true (result_has_sum ("writer"));
}

static void
test_changes (void **state)
{
  static const unsigned counts[] = { 1, 255, 256, 257, 400, 500 };

  (void) state;
  for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++)
    change_blocks (counts[i]);
}

static int
begin (void **state)
{
  (void) state;
  server_configure ("blkhash-missing", "read");
  return result_start (SIZE, BLOCK, false);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_changes),
    cmocka_unit_test (result_stop),
  };

  return cmocka_run_group_tests (tests, begin, NULL);
}
