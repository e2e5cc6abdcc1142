/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: when the last client disconnects, the filter reads what is
 * missing, with several reads in flight.  Meanwhile a read fails, another
 * client connects, or the server ends.
 *
 * Each read takes long enough that the filter starts another thread.  Reads
 * after the first PASS_MAX_THREADS also wait until the expected number of reads
 * was in flight, and, if HELD is set, until the test releases them.
 *
 * PASS_MAX_THREADS is how many threads the filter starts at most (see pass.c);
 * the thread of nbdkit reads, too.  test-pass-read-pieces.c includes this file
 * with other blocks.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/util.h"
#include "blkhash/pass.h"
#include "blkhash/test-locks.h"
#include "blkhash/test-nbdkit.h"
#include "blkhash/test-sums.h"

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 65536
#define PASS_MAX_THREADS 15
#endif

#define READ_SIZE (1024 * 1024)
#define READS 64
#define SIZE (READS * READ_SIZE)
#define STRING2(x) #x
#define STRING(x) STRING2 (x)

static char directory[] = "/tmp/blkhash-test-XXXXXX";
static char path[sizeof directory + 5], manifest[sizeof directory + 9];

/* ---- Reads of the plugin ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

/* Protected by lock, except while no read begins or ends. */
static unsigned begun, in_flight, most, expected;
static unsigned together;       /* 1 + number of the last read that began while
                                 * another one was in flight */
static bool held;
static enum {
  NONE,
  ALL,
  OURS,                         /* reads in threads of the filter */
  TOGETHER                      /* reads whose number < together */
} failing;                      /* which reads fail, of those after the first
                                 * PASS_MAX_THREADS */
static int error = EIO;         /* of reads that fail */
static pthread_t nbdkit_thread;

static void
sleep_ms (unsigned ms)
{
  const struct timespec t = { .tv_nsec = ms * 1000000L };

  nanosleep (&t, NULL);
}

/* Returns the number of the read. */
static unsigned
begin_read (void)
{
  SCOPED_LOCK (&lock);

  if (++in_flight > most)
    most = in_flight;
  if (in_flight > 1)
    together = begun + 1;
  pthread_cond_broadcast (&changed);
  return begun++;
}

static bool
fails_locked (unsigned number)
{
  switch (failing) {
  case NONE: return false;
  case ALL: return true;
  case OURS: return !pthread_equal (pthread_self (), nbdkit_thread);
  case TOGETHER: return number < together;
  }
  abort ();
}

static int
on_read (void)
{
  unsigned number = begin_read ();

  sleep_ms (2);

  SCOPED_LOCK (&lock);
  while (number >= PASS_MAX_THREADS && (most < expected || held))
    pthread_cond_wait (&changed, &lock);
  in_flight--;
  return number >= PASS_MAX_THREADS && fails_locked (number) ? error : 0;
}

/* Expect N reads in flight.  If HOLD is set, they wait until release. */
static void
expect (unsigned n, bool hold)
{
  SCOPED_LOCK (&lock);

  begun = in_flight = most = together = 0;
  expected = n;
  held = hold;
  failing = NONE;
}

static void
wait_until_held (void)
{
  SCOPED_LOCK (&lock);

  while (in_flight < expected)
    pthread_cond_wait (&changed, &lock);
}

static void
release (void)
{
  SCOPED_LOCK (&lock);

  held = false;
  pthread_cond_broadcast (&changed);
}

/* Returns true if the disk was read with READS reads, and N of these reads were
 * repeated.  There can be one more read: if a byte of a block is known, the
 * rest of the block is a separate range.
 */
static bool
all_read (unsigned n)
{
  return in_flight == 0 && (begun == READS + n || begun == READS + 1 + n);
}

/* ---- Results ---- */

static bool
result_has (const char *line)
{
  char text[4096];
  FILE *f = fopen (path, "r");

  assert_non_null (f);
  text[fread (text, 1, sizeof text - 1, f)] = '\0';
  fclose (f);
  return strstr (text, line) != NULL;
}

static bool
has_sum (const char *name)
{
  char sum[SUM_LEN], line[SUM_LEN + 100];

  disk_sum (sum, SIZE, BLOCK_SIZE);
  snprintf (line, sizeof line, " (%s) = %s\n", name, sum);
  return result_has (line);
}

/* ---- Clients ---- */

static void
fill_disk (void)
{
  static uint32_t seed = 1;
  uint64_t i;

  for (i = 0; i < SIZE; i += sizeof seed) {
    seed = seed * 1664525 + 1013904223;
    memcpy (disk + i, &seed, sizeof seed);
  }
}

/* Returns a client of the export NAME that has changed a byte, and flushed, so
 * that other connections see the change.  When this client disconnects, the
 * filter reads the rest of the disk.
 */
static struct client *
change_a_byte (const char *name)
{
  struct client *client = client_open (name);

  assert_int_equal (client_write (client, 'x', 1, 0, 0), 0);
  assert_int_equal (client_flush (client), 0);
  return client;
}

static void *
disconnect (void *client)
{
  client_disconnect (client);
  return NULL;
}

static pthread_t
start (void *(*function) (void *), void *argument)
{
  pthread_t thread;

  assert_int_equal (pthread_create (&thread, NULL, function, argument), 0);
  return thread;
}

static void
test_together (void **state)
{
  (void) state;
  expect (1 + PASS_MAX_THREADS, false);
  client_disconnect (change_a_byte ("together"));
  assert_int_equal (most, 1 + PASS_MAX_THREADS);
  assert_true (all_read (0));
  assert_true (has_sum ("together"));
}

/* A client has trimmed the whole disk.  When it disconnects, the filter reads
 * all of the disk.
 */
static void
test_trimmed (void **state)
{
  struct client *client = client_open ("trimmed");

  (void) state;
  assert_int_equal (client_trim (client, SIZE, 0, 0), 0);
  fill_disk ();
  expect (1 + PASS_MAX_THREADS, false);
  client_disconnect (client);
  assert_int_equal (most, 1 + PASS_MAX_THREADS);
  assert_true (all_read (0));
  assert_true (has_sum ("trimmed"));
}

/* The passes of all exports together have at most PASS_MAX_THREADS threads of
 * the filter.
 */
static void
test_two_exports (void **state)
{
  struct client *clients[] = {
    change_a_byte ("first"), change_a_byte ("second")
  };
  pthread_t threads[2];
  int i;

  (void) state;
  expect (2 + PASS_MAX_THREADS, true);
  for (i = 0; i < 2; i++)
    threads[i] = start (disconnect, clients[i]);
  wait_until_held ();
  sleep_ms (20);                /* more reads that began now would be wrong */
  release ();
  for (i = 0; i < 2; i++)
    pthread_join (threads[i], NULL);
  assert_int_equal (most, 2 + PASS_MAX_THREADS);
  assert_true (has_sum ("first"));
  assert_true (has_sum ("second"));
}

static void
test_error (void **state)
{
  struct client *client = change_a_byte ("error");

  (void) state;
  expect (1 + PASS_MAX_THREADS, false);
  failing = ALL;
  client_disconnect (client);
  assert_int_equal (most, 1 + PASS_MAX_THREADS);
  assert_int_equal (in_flight, 0);
  assert_false (has_sum ("error"));
  assert_true (result_has ("# unknown error: 1048576 bytes at ") &&
               result_has (" cannot be read: Input/output error\n"));

  failing = NONE;
  client_disconnect (change_a_byte ("error"));
  assert_true (has_sum ("error"));
}

/* Errors of the plugin are not mistaken for PASS_CANCELED or PASS_STALE of
 * pass.h.
 */
static void
test_errors (void **state)
{
  static const int errors[] = { ECANCELED, ESTALE };
  char line[100];
  unsigned i;

  (void) state;
  for (i = 0; i < sizeof errors / sizeof errors[0]; i++) {
    struct client *client = change_a_byte ("errors");

    expect (1 + PASS_MAX_THREADS, false);
    failing = ALL;
    error = errors[i];
    client_disconnect (client);
    sprintf (line, " cannot be read: %s\n", strerror (error));
    assert_true (result_has (line));
  }
  error = EIO;
}

/* The plugin fails in the filter's threads, which belong to no connection of
 * nbdkit.  The thread of nbdkit repeats the failed reads, and continues alone.
 */
static void
test_error_of_ours (void **state)
{
  struct client *client = change_a_byte ("ours");

  (void) state;
  expect (1 + PASS_MAX_THREADS, false);
  failing = OURS;
  nbdkit_thread = pthread_self ();
  client_disconnect (client);
  assert_true (all_read (PASS_MAX_THREADS));
  assert_true (has_sum ("ours"));
}

/* The plugin fails in any thread while several reads are in flight.  The failed
 * reads are repeated.
 */
static void
test_error_of_many (void **state)
{
  struct client *client = change_a_byte ("many");

  (void) state;
  expect (1 + PASS_MAX_THREADS, false);
  failing = TOGETHER;
  client_disconnect (client);
  assert_int_equal (most, 1 + PASS_MAX_THREADS);
  assert_true (all_read (1 + PASS_MAX_THREADS));
  assert_true (has_sum ("many"));
}

/* A client connects, and changes blocks that are being read: no more reads
 * begin.
 */
static void
test_cancel (void **state)
{
  struct client *client = change_a_byte ("cancel");
  pthread_t thread;
  unsigned before;

  (void) state;
  expect (1 + PASS_MAX_THREADS, true);
  thread = start (disconnect, client);
  wait_until_held ();
  client = client_open ("cancel");
  assert_int_equal (client_write (client, 'y', SIZE / 2, 1234, 0), 0);
  before = begun;
  release ();
  pthread_join (thread, NULL);
  assert_int_equal (begun, before); /* no more reads */
  assert_false (result_has (" (cancel) = "));
  client_disconnect (client);
  assert_true (has_sum ("cancel"));
}

/* Unless the thread model is PARALLEL, only one thread reads, even if reads
 * take long.
 */
static void
test_serial (void **state)
{
  (void) state;
  expect (1, false);
  pass_read_set_parallel (false);
  client_disconnect (change_a_byte ("serial"));
  pass_read_set_parallel (true);
  assert_int_equal (most, 1);
  assert_true (all_read (0));
  assert_true (has_sum ("serial"));
}

static bool has_ended;          /* atomic */

static void *
end_server (void *opaque)
{
  server_end ();
  __atomic_store_n (&has_ended, true, __ATOMIC_SEQ_CST);
  return opaque;
}

/* The server does not end before all missing ranges are read. */
static void
test_end (void **state)
{
  pthread_t client, server;

  (void) state;
  expect (1 + PASS_MAX_THREADS, true);
  client = start (disconnect, change_a_byte ("end"));
  wait_until_held ();
  server = start (end_server, NULL);
  sleep_ms (50);                /* it would be wrong if the server ended now */
  assert_false (__atomic_load_n (&has_ended, __ATOMIC_SEQ_CST));
  release ();
  pthread_join (client, NULL);
  pthread_join (server, NULL);
  assert_true (has_sum ("end"));
}

static int
set_up (void **state)
{
  (void) state;
  if (!mkdtemp (directory))
    return -1;
  sprintf (path, "%s/sums", directory);
  sprintf (manifest, "%s/manifest", directory);
  server_start (SIZE, path, manifest, STRING (BLOCK_SIZE));
  fill_disk ();
  disk_on_read = on_read;
  alarm (1200);  /* if expected reads never begin; valgrind takes minutes */
  return 0;
}

/* The last test, because cmocka ignores an error of the tear-down.  rmdir fails
 * if the filter left another file.
 */
static void
test_nothing_left (void **state)
{
  (void) state;
  server_stop ();
  unlink (path);
  unlink (manifest);
  assert_int_equal (rmdir (directory), 0);
}

int
main (void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test (test_together),
    cmocka_unit_test (test_trimmed),
    cmocka_unit_test (test_two_exports),
    cmocka_unit_test (test_error),
    cmocka_unit_test (test_errors),
    cmocka_unit_test (test_error_of_ours),
    cmocka_unit_test (test_error_of_many),
    cmocka_unit_test (test_cancel),
    cmocka_unit_test (test_serial),
    cmocka_unit_test (test_end),
    cmocka_unit_test (test_nothing_left),
  };

  return cmocka_run_group_tests (tests, set_up, NULL);
}
