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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "export.h"
#include "test-nbdkit.h"
#include "test-sums.h"

#define BLOCK 65536
#define SIZE (4 * BLOCK)

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char path[sizeof directory + 5];

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

/* Returns true if the result file has a sum.  Checks that each sum is that of
 * the disk.
 */
static bool
has_sum (void)
{
  char text[1024], sum[SUM_LEN], *line, *rest = text;
  FILE *f = fopen (path, "r");
  bool found = false;

  assert_non_null (f);
  text[fread (text, 1, sizeof text - 1, f)] = '\0';
  fclose (f);
  disk_sum (sum, SIZE, BLOCK);
  while ((line = strsep (&rest, "\n")) && *line)
    if (*line != '#') {
      assert_memory_equal (line, sum, strlen (sum));
      found = true;
    }
  return found;
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
  assert_false (has_sum ());
  client_disconnect (client);
  assert_false (has_sum ());

  reader = client_open ("a");
  assert_int_equal (client_read (reader, BLOCK, BLOCK), 0);
  client_disconnect (reader);
  assert_true (has_sum ());
}

static int
begin (void **state)
{
  (void) state;
  if (!mkdtemp (directory))
    return -1;
  sprintf (path, "%s/sums", directory);
  disk_mode.multi_conn = true;
  server_configure ("blkhash-distinct-exports", "true");
  server_configure ("blkhash-missing", "fail");
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
    cmocka_unit_test (test_change),
  };

  return cmocka_run_group_tests (tests, begin, end);
}
