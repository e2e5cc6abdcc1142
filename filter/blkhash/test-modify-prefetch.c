/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: a client trims a range, and another client, which does not see the
 * trim yet, prefetches the range or writes a part of one of its blocks.  A
 * cache below the filter may then store the old content of the range.  So a sum
 * that was published is withdrawn, and the content of the range counts as
 * unknown.
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

#define BLOCK 65536             /* bytes; block size of the layers below */
#define HASH_BLOCK 4096
#define SIZE (4 * BLOCK)

/* Returns true if the export NAME has a sum.  Checks that each sum, of whatever
 * export, is that of the disk.
 */
static bool
has_sum (const char *name)
{
  return result_sums () > 0 && result_has_sum (name);
}

/* Returns a client of the export "old" that does not see the trim of block 1 by
 * a client of the export "new".  The sum of "new" is published.
 */
static struct client *
trim (void)
{
  struct client *client, *other;

  client = client_open ("old");
  assert_int_equal (client_read (client, 1, 0), 0);
  other = client_open ("new");
  assert_int_equal (client_write (other, 'x', SIZE, 0, 0), 0);
  assert_int_equal (client_trim (other, BLOCK, BLOCK, 0), 0);
  assert_int_equal (client_flush (other), 0);
  client_disconnect (other);
  assert_true (has_sum ("new"));
  return client;
}

static void
test_trimmed (void **state)
{
  struct client *client = trim ();

  (void) state;
  assert_int_equal (client_cache (client, 100, BLOCK + 100), 0);
  assert_false (has_sum ("new"));
  assert_true (result_has ("# unknown new: "));
  client_disconnect (client);
  assert_false (has_sum ("new"));
}

/* Without multi-conn, the client may see old content of the whole disk, so even
 * a prefetch of block 0, which was not trimmed, withdraws the sum.
 */
static void
test_stale (void **state)
{
  struct client *client;

  (void) state;
  disk_mode.multi_conn = false;
  client = trim ();
  assert_int_equal (client_cache (client, BLOCK, 0), 0);
  assert_false (has_sum ("new"));
  client_disconnect (client);
  disk_mode.multi_conn = true;
}

static void
test_other_range (void **state)
{
  struct client *client = trim ();

  (void) state;
  assert_int_equal (client_cache (client, BLOCK, 0), 0);
  assert_int_equal (client_cache (client, 2 * BLOCK, 2 * BLOCK), 0);
  assert_true (has_sum ("new"));
  client_disconnect (client);
}

static void
test_overwritten (void **state)
{
  struct client *client = trim (), *other = client_open ("new");

  (void) state;
  assert_int_equal (client_write (other, 'y', BLOCK, BLOCK, 0), 0);
  assert_int_equal (client_flush (other), 0);
  client_disconnect (other);
  assert_int_equal (client_cache (client, BLOCK, BLOCK), 0);
  assert_true (has_sum ("new"));
  client_disconnect (client);
}

/* The client writes a part of the trimmed block.  The layer below writes back
 * the rest of the block as this client sees it: the parts before and after the
 * written range.  The test changes both parts on the disk.  When a client of
 * "new" has read one part, the other part must still count as unknown: a sum
 * with what the trim left there would not be that of the disk.
 */
static void
test_written (void **state)
{
  static const struct { uint64_t start, end; } reads[] = {
    { BLOCK, BLOCK + 3 * HASH_BLOCK }, { BLOCK + 2 * HASH_BLOCK, 2 * BLOCK }
  };
  unsigned i;

  (void) state;
  for (i = 0; i < 2; i++) {
    struct client *client = trim ();

    assert_int_equal (client_write (client, 'z', HASH_BLOCK,
                                    BLOCK + 2 * HASH_BLOCK, 0), 0);
    assert_false (has_sum ("new"));
    disk[BLOCK + HASH_BLOCK] = 1;
    disk[BLOCK + 3 * HASH_BLOCK] = 2;
    assert_int_equal (client_flush (client), 0);
    client_disconnect (client);

    client = client_open ("new");
    assert_int_equal (client_read (client, reads[i].end - reads[i].start,
                                   reads[i].start), 0);
    client_disconnect (client);
    (void) has_sum ("new");     /* checks the sum, if there is one */

    client = client_open ("new");
    assert_int_equal (client_read (client, SIZE, 0), 0);
    client_disconnect (client);
    assert_true (has_sum ("new"));
  }
}

static int
begin (void **state)
{
  (void) state;
  disk_mode.multi_conn = true;
  server_configure ("blkhash-missing", "read");
  return result_start (SIZE, HASH_BLOCK, true);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_trimmed),
    cmocka_unit_test (test_stale),
    cmocka_unit_test (test_other_range),
    cmocka_unit_test (test_overwritten),
    cmocka_unit_test (test_written),
    cmocka_unit_test (result_stop),
  };

  return cmocka_run_group_tests (tests, begin, NULL);
}
