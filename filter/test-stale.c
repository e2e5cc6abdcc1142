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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "test-nbdkit.h"
#include "test-sums.h"

#define BLOCK 65536
#define SIZE (4 * BLOCK)

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char path[sizeof directory + 5];

/* Check that the export NAME has a sum, and that it is that of the disk. */
static void
check_sum (const char *name)
{
  char text[1024], sum[SUM_LEN], line[256];
  FILE *f = fopen (path, "r");

  assert_non_null (f);
  text[fread (text, 1, sizeof text - 1, f)] = '\0';
  fclose (f);
  disk_sum (sum, SIZE, BLOCK);
  snprintf (line, sizeof line, "%s  %s\n", sum, name);
  if (!strstr (text, line))
    fail_msg ("expected %sgot %s", line, text);
}

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
  check_sum ("reader");
  client_disconnect (writer);
}

static int
begin (void **state)
{
  (void) state;
  if (!mkdtemp (directory))
    return -1;
  sprintf (path, "%s/sums", directory);
  disk_mode = (struct disk_mode) { .views = VIEWS_BACK };
  server_configure ("blkhash-missing", "read");
  server_start (SIZE, path, NULL, "65536");
  return 0;
}

static int
end (void **state)
{
  (void) state;
  server_stop ();
  unlink (path);
  return rmdir (directory);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_opened_before_flush),
  };

  return cmocka_run_group_tests (tests, begin, end);
}
