/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: a client gets no export, because there is no memory, but changes
 * the disk.  Another client connects during the change.  The export of this
 * other client must not use the content that it read from the changed block
 * before the change ended.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "blkhash/export.h"
#include "blkhash/test-nbdkit.h"
#include "blkhash/test-result.h"

#define BLOCK 65536
#define SIZE (4 * BLOCK)

static bool no_memory;          /* for an export */

void *__real_calloc (size_t count, size_t size);
void *__wrap_calloc (size_t count, size_t size);

void *
__wrap_calloc (size_t count, size_t size)
{
  if (no_memory && size == sizeof (struct export))
    return NULL;
  return __real_calloc (count, size);
}

static struct client *reader;

/* Called during the write of block 1.  The other client reads the old content
 * of the block, as if the plugin had not written it yet.
 */
static void
read_old (void)
{
  unsigned char written[BLOCK];

  disk_on_written = NULL;
  no_memory = false;
  reader = client_open ("a");
  memcpy (written, disk + BLOCK, BLOCK);
  memset (disk + BLOCK, 0, BLOCK);
  assert_int_equal (client_read (reader, SIZE, 0), 0);
  memcpy (disk + BLOCK, written, BLOCK);
}

static void
test_change (void **state)
{
  struct client *client;
  unsigned errors;

  (void) state;
  no_memory = true;
  client = client_open ("a");
  disk_on_written = read_old;
  errors = errors_reported ();
  assert_int_equal (client_write (client, 'x', BLOCK, BLOCK, 0), 0);
  assert_int_equal (errors_reported (), errors + 1);
  client_disconnect (reader);
  assert_int_equal (result_sums (), 0);
  client_disconnect (client);
  assert_int_equal (result_sums (), 0);

  reader = client_open ("a");
  assert_int_equal (client_read (reader, BLOCK, BLOCK), 0);
  client_disconnect (reader);
  assert_int_equal (result_sums (), 1);
}

static int
begin (void **state)
{
  (void) state;
  disk_mode.multi_conn = true;
  server_configure ("blkhash-distinct-exports", "true");
  server_configure ("blkhash-missing", "fail");
  return result_start (SIZE, BLOCK, false);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_change),
    cmocka_unit_test (result_stop),
  };

  return cmocka_run_group_tests (tests, begin, NULL);
}
