/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: random clients in many threads at once, without nbdkit, which is
 * not built for TSan.  Locks are taken in one order, no thread holds any of
 * them while it does file I/O or calls the plugin, and in the end the sum and
 * the manifest are right.
 *
 * test-threads-pieces.c includes this file with large blocks, so all threads
 * compete for the memory for pieces of blocks.  test-threads-sums.c includes it
 * without a manifest, so several exports publish their sums at the same time:
 * with a manifest they would wait for each other to write it.
 */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "export.h"
#include "test-locks.h"
#include "test-nbdkit.h"
#include "test-result.h"

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 4096
#define BLOCKS 50
#define ROUNDS 100
#define WITH_MANIFEST 1
#endif

#define THREADS 6
#define SIZE ((uint64_t) BLOCK_SIZE * BLOCKS - 1234)
#define MAX_LEN (3 * BLOCK_SIZE < 65536 ? 3 * BLOCK_SIZE : 65536)

static const char *const names[] = { "a", "b", "c" };

static uint32_t
below (unsigned *seed, uint32_t n)
{
  return (uint32_t) rand_r (seed) % n;
}

static void
do_request (struct client *client, unsigned *seed)
{
  uint32_t len = 1 + below (seed, MAX_LEN);
  uint64_t offset = (uint64_t) rand_r (seed) % (SIZE - len);

  if (below (seed, 2)) {        /* whole blocks, or a part of one */
    len = len < BLOCK_SIZE ? len : len - len % BLOCK_SIZE;
    offset -= offset % BLOCK_SIZE;
  }
  switch (below (seed, 12)) {
  case 0: case 1: case 2: case 3: client_read (client, len, offset); break;
  case 4: case 5: case 6: client_write (client, 'a' + below (seed, 9), len,
                                        offset, 0); break;
  case 7: client_zero (client, len, offset, 0); break;
  case 8: client_write (client, 0, len, offset, 0); break;
  case 9: client_trim (client, len, offset, 0); break;
  case 10: client_extents (client, len, offset); break;
  case 11: client_flush (client); break;
  }
}

static void *
run_clients (void *opaque)
{
  unsigned seed = (uintptr_t) opaque;
  int i, requests;

  for (i = 0; i < ROUNDS; i++) {
    struct client *client = client_open (names[below (&seed, 3)]);

    for (requests = below (&seed, 30); requests > 0; requests--)
      do_request (client, &seed);
    if (below (&seed, 5) == 0)
      client_vanish (client);
    else
      client_disconnect (client);
    assert_int_equal (locks_held (), 0);
  }
  return NULL;
}

static void
check_manifest (void)
{
  if (WITH_MANIFEST)
    assert_true (result_manifest_is_right ());
}

static void *
read_all (void *opaque)
{
  struct client *client = client_open (opaque);

  client_read (client, SIZE, 0);
  client_disconnect (client);
  return NULL;
}

/* The exports of all names get a sum, and write the manifest, at the same time.
 */
static void
finish_in_parallel (int byte)
{
  struct client *client = client_open (names[0]);
  pthread_t threads[sizeof names / sizeof names[0]];
  size_t i;

  client_write (client, byte, 1, 0, 0);
  client_vanish (client);
  for (i = 0; i < sizeof names / sizeof names[0]; i++)
    assert_int_equal (pthread_create (&threads[i], NULL, read_all,
                                      (void *) names[i]), 0);
  for (i = 0; i < sizeof names / sizeof names[0]; i++)
    pthread_join (threads[i], NULL);
}

static void
test_threads (void **state)
{
  pthread_t threads[THREADS];
  size_t i;

  (void) state;
  assert_int_equal (result_start (SIZE, BLOCK_SIZE, WITH_MANIFEST), 0);
  disk_failures = 101;
  for (i = 0; i < THREADS; i++)
    assert_int_equal (pthread_create (&threads[i], NULL, run_clients,
                                      (void *) (i + 1)), 0);
  for (i = 0; i < THREADS; i++)
    pthread_join (threads[i], NULL);

  /* A client writes one byte.  When it disconnects, the filter reads the
   * missing ranges.
   */
  disk_failures = 0;
  for (i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct client *client = client_open (names[i]);

    client_write (client, 'x', 1, 0, 0);
    client_disconnect (client);
    assert_true (result_has_sum (names[i]));
    assert_int_equal (result_sums (), 1);
    check_manifest ();
  }

  for (i = 0; i < ROUNDS; i++) {
    finish_in_parallel (i);
    check_manifest ();
  }

  /* At least two kinds of locks were taken with exports_lock held: that of a
   * leaf table and that of report.c.
   */
  assert_true (locks_below (&exports_lock) >= 2);
  assert_int_equal (result_stop (), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_threads),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
