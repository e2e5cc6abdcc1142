/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: a plugin without multi-conn, where each connection has a
 * write-back cache.  A connection that was opened before a flush of another one
 * still sees the old content.  Its reads must not be in a sum.
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

#define BLOCK 65536
#define SIZE (4 * BLOCK)

/* The reader is opened after the write, so only the flush tells the filter that
 * the reader may see the old content.
 */
static void
test_opened_before_flush (void **state)
{
  struct client *writer, *reader;

  (void) state;
  writer = client_open ("writer");
  assert_int_equal (client_write (writer, 'x', BLOCK, BLOCK, 0), 0);
  reader = client_open ("reader");
  assert_int_equal (client_flush (writer), 0);
  assert_int_equal (disk[BLOCK], 'x');

  assert_int_equal (client_read (reader, SIZE, 0), 0);
  client_disconnect (reader);
  assert_true (result_has_sum ("reader"));
  client_disconnect (writer);
}

static int
begin (void **state)
{
  (void) state;
  disk_mode = (struct disk_mode) { .views = VIEWS_BACK };
  server_configure ("blkhash-missing", "read");
  return result_start (SIZE, BLOCK, false);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_opened_before_flush),
    cmocka_unit_test (result_stop),
  };

  return cmocka_run_group_tests (tests, begin, NULL);
}
