/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: the last client disconnects.  The filter reads only what it does
 * not know, and there is no sum if the last request failed, or if clients with
 * and without TLS made requests.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/leaves/leaves.h"
#include "blkhash/manifest-save.h"
#include "blkhash/test-nbdkit.h"
#include "blkhash/test-result.h"

#define BLOCK 65536
#define SIZE (4 * BLOCK)
#define MIXED ": clients with and without TLS use it\n"

static atomic_uint reads;       /* by the filter or the client */
static bool fail;               /* reads fail */

static int
on_read (void)
{
  reads++;
  return fail ? EIO : 0;
}

static void
test_written (void **state)
{
  struct client *client = client_open ("written");

  (void) state;
  reads = 0;
  assert_int_equal (client_write (client, 'w', SIZE, 0, 0), 0);
  client_disconnect (client);
  assert_true (result_has_sum ("written"));
  assert_int_equal (reads, 0);
}

/* The plugin reports extents. */
static void
test_zeros (void **state)
{
  struct client *client = client_open ("zeros");

  (void) state;
  memset (disk, 0, SIZE);
  reads = 0;
  assert_int_equal (client_read (client, 1, 0), 0);
  client_disconnect (client);
  assert_true (result_has_sum ("zeros"));
  assert_int_equal (reads, 1);
}

static void
test_last_failed (void **state)
{
  struct client *client = client_open ("failed");

  (void) state;
  memset (disk, 'd', SIZE);
  fail = true;
  assert_int_equal (client_read (client, 1, 0), -1);
  fail = false;
  client_disconnect (client);
  assert_true (result_has ("# unknown failed: the last request failed\n"));

  client = client_open ("failed");
  assert_int_equal (client_write (client, 'x', 1, 0, 0), 0);
  client_disconnect (client);
  assert_true (result_has_sum ("failed"));
}

static int fold_error;          /* of the next call of manifest_fold */

int __real_manifest_fold (struct blkhash_leaves *l, unsigned char *md,
                          unsigned *len, bool *saved);
int __wrap_manifest_fold (struct blkhash_leaves *l, unsigned char *md,
                          unsigned *len, bool *saved);

int
__wrap_manifest_fold (struct blkhash_leaves *l, unsigned char *md,
                      unsigned *len, bool *saved)
{
  int err = fold_error;

  fold_error = 0;
  if (err == 0)
    return __real_manifest_fold (l, md, len, saved);
  *saved = false;
  return err;
}

/* A request of another connection changes the table while it is folded, or
 * makes a block missing: the filter tries again.  No other error is retried.
 */
static void
test_fold_again (void **state)
{
  static const struct {
    const char *name;
    int err;
    bool sum;
  } folds[] = {
    { "busy", EBUSY, true }, { "missing", ENODATA, true },
    { "failed", EIO, false }
  };

  (void) state;
  for (size_t i = 0; i < sizeof folds / sizeof *folds; i++) {
    struct client *client = client_open (folds[i].name);

    client_write (client, 'w', SIZE, 0, 0);
    fold_error = folds[i].err;
    client_disconnect (client);
    assert_int_equal (fold_error, 0);
    assert_int_equal (result_has_sum (folds[i].name), folds[i].sum);
  }
}

/* A client that makes no request can have a sum, of zeros, until the other kind
 * of clients uses the disk.
 */
static void
test_tls_idle_first (void **state)
{
  struct client *client;

  (void) state;
  memset (disk, 0, SIZE);
  client_disconnect (client_open ("idle"));
  assert_true (result_has_sum ("idle"));
  client_disconnect (client_open_tls ("idle"));
  assert_true (result_has_sum ("idle"));
  client = client_open_tls ("idle");
  client_extents (client, SIZE, 0);
  assert_true (result_has ("# unknown idle" MIXED));
  client_disconnect (client);
  assert_true (result_has_sum ("idle"));
}

/* Such a client takes no sum away, and reads nothing. */
static void
test_tls_only_connects (void **state)
{
  struct client *client;

  (void) state;
  memset (disk, 'd', SIZE);
  client_disconnect (client_open ("tls"));
  client = client_open_tls ("tls");
  assert_int_equal (client_write (client, 'x', 1, 0, 0), 0);
  client_vanish (client);
  reads = 0;
  client_disconnect (client_open ("tls"));
  assert_int_equal (reads, 0);
  client_disconnect (client_open_tls ("tls"));
  assert_true (result_has_sum ("tls"));
  client_disconnect (client_open ("tls"));
  assert_true (result_has_sum ("tls"));
}

static struct client *other;    /* reads once when zeros of extents are added */

int __real_leaves_observe_zero (struct blkhash_leaves *l, uint64_t len,
                                uint64_t offset);
int __wrap_leaves_observe_zero (struct blkhash_leaves *l, uint64_t len,
                                uint64_t offset);

int
__wrap_leaves_observe_zero (struct blkhash_leaves *l, uint64_t len,
                            uint64_t offset)
{
  struct client *client = other;

  other = NULL;
  if (client)
    client_read (client, 2 * BLOCK, 0);
  return __real_leaves_observe_zero (l, len, offset);
}

static bool
lie (uint64_t offset)
{
  return offset >= 2 * BLOCK;
}

/* What a client without TLS reads is not completed by extents that the filter
 * has queried meanwhile with TLS, where they can be those of another disk.
 */
static void
test_tls_meanwhile (void **state)
{
  struct client *client = client_open ("meanwhile");

  (void) state;
  memset (disk, 'd', SIZE);
  other = client;
  disk_lies = lie;
  client_disconnect (client_open_tls ("meanwhile"));
  disk_lies = NULL;
  assert_null (other);
  client_disconnect (client);
  assert_false (result_has (" (meanwhile) = "));
}

static void
test_tls_mixed (void **state)
{
  struct client *client = client_open_tls ("mixed");
  unsigned i;

  (void) state;
  client_read (client, SIZE, 0);
  client_disconnect (client);
  assert_true (result_has_sum ("mixed"));
  client = client_open ("mixed");
  client_read (client, 1, 0);
  for (i = 0; i < 3; i++) {
    assert_true (result_has ("# unknown mixed" MIXED));
    client_disconnect (client);
    client = i ? client_open_tls ("mixed") : client_open ("mixed");
    client_write (client, 'w', SIZE, 0, 0);
  }
  client_disconnect (client);
  assert_false (result_has_sum ("mixed"));
}

static int
begin (void **state)
{
  (void) state;
  disk_on_read = on_read;
  server_configure ("blkhash-missing", "read");
  server_configure ("blkhash-distinct-exports", "true");
  return result_start (SIZE, BLOCK, false);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_written),
    cmocka_unit_test (test_zeros),
    cmocka_unit_test (test_last_failed),
    cmocka_unit_test (test_fold_again),
    cmocka_unit_test (test_tls_idle_first),
    cmocka_unit_test (test_tls_only_connects),
    cmocka_unit_test (test_tls_meanwhile),
    cmocka_unit_test (test_tls_mixed),
    cmocka_unit_test (result_stop),
  };

  return cmocka_run_group_tests (tests, begin, NULL);
}
