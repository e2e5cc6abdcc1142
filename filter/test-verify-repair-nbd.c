/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Unit test: a repair source that is an NBD export.  The test replaces libnbd
 * and the clock.  A server that does not reply costs one timeout, and is
 * suspended for a minute.  Only time spent waiting for the server counts
 * towards the timeout.  A server that fails is not suspended.  Each wait ends
 * when nbdkit ends.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../lib/common/libnbd.h"
#include "../lib/common/numbers.h"
#include "../lib/common/test-time64.h"
#include "../lib/construction/leaf.h"
#include "../lib/digest/digest.h"
#include "test-verify-nbdkit.h"
#include "verify/compare.h"
#include "verify/disk.h"
#include "verify/params.h"
#include "verify/repair.h"
#include "verify/repair-nbd.h"

#define SIZE 100000
#define THREADS 5

/* ---- The clock ---- */

/* Milliseconds.  NOW is so far ahead of the real clock, which
 * pthread_cond_timedwait uses, that a deadline computed from NOW never passes
 * there.
 */
static atomic_llong now = 1000000000000;

int __wrap_clock_gettime (clockid_t clock, struct timespec *time)
  WRAPS_TIME64 (clock_gettime);

int
__wrap_clock_gettime (clockid_t clock, struct timespec *time)
{
  assert_int_equal (clock, CLOCK_MONOTONIC);
  time->tv_sec = now / 1000;
  time->tv_nsec = now % 1000 * 1000000;
  return 0;
}

/* ---- The server, which one thread at a time uses ---- */

struct nbd_handle {
  bool is_connected, is_dead, in_flight;
  void *buf;                    /* of the request in flight, or NULL */
  size_t len;
  uint64_t offset;
  unsigned polls;               /* since the connection or request began */
};

static struct {
  int64_t size, min, max;
  enum {
    CONNECT,                    /* after some polls */
    CONNECT_NEVER, CONNECT_FAILS,
    CONNECT_ENDS,               /* fails after some polls */
  } connect;
  enum {
    REPLY,                      /* after some polls */
    REPLY_NEVER, REPLY_ERROR, REPLY_LOST,
    REPLY_UNKNOWN,              /* libnbd fails to say if there is a reply */
    REPLY_SLOWLY,               /* after almost a timeout */
  } reply;
  bool load_fails, closes_once, refuses, no_transports;
  unsigned connects, requests, open, users;
} server;

static unsigned
enter (void)
{
  return __atomic_fetch_add (&server.users, 1, __ATOMIC_SEQ_CST);
}

static void
leave (void)
{
  __atomic_fetch_sub (&server.users, 1, __ATOMIC_SEQ_CST);
}

static struct nbd_handle *
fake_create (void)
{
  server.open++;
  return calloc (1, sizeof (struct nbd_handle));
}

static void
fake_close (struct nbd_handle *nbd)
{
  server.open--;
  free (nbd);
}

static int
fake_disconnect (struct nbd_handle *nbd, uint32_t flags)
{
  assert_int_equal (flags, 0);
  return nbd->is_connected ? 0 : -1;
}

static int
fake_allow_transports (struct nbd_handle *nbd, uint32_t mask)
{
  (void) nbd;
  assert_int_equal (mask, 7);   /* TCP, Unix, vsock */
  return server.no_transports ? -1 : 0;
}

static int
fake_allow_local_file (struct nbd_handle *nbd, bool allow)
{
  (void) nbd;
  return allow ? 0 : -1;
}

static int
fake_connect_uri (struct nbd_handle *nbd, const char *uri)
{
  (void) nbd;
  assert_string_equal (uri, "nbd://server");
  server.connects++;
  return server.connect == CONNECT_FAILS ? -1 : 0;
}

static int
fake_is_connecting (struct nbd_handle *nbd)
{
  return !nbd->is_connected && !nbd->is_dead;
}

static int
fake_is_ready (struct nbd_handle *nbd)
{
  return nbd->is_connected && !nbd->is_dead;
}

static int64_t
fake_get_size (struct nbd_handle *nbd)
{
  (void) nbd;
  return server.size;
}

static int64_t
fake_get_block_size (struct nbd_handle *nbd, int which)
{
  (void) nbd;
  return which == LIBNBD_SIZE_MINIMUM ? server.min : server.max;
}

static int64_t
fake_pread (struct nbd_handle *nbd, void *buf, size_t len, uint64_t offset,
            nbd_completion_callback completion, uint32_t flags)
{
  int64_t min = MAX (server.min, 1), max = server.max ? server.max : SIZE;

  (void) completion;
  assert_int_equal (flags, 0);
  assert_true (len > 0 && (int64_t) (offset + len) <= server.size);
  if (min <= 65536 && (min & (min - 1)) == 0)
    assert_true (offset % min == 0 && (int64_t) len <= MAX (max, min));
  server.requests++;
  if (server.refuses)
    return -1;
  nbd->buf = buf;
  nbd->len = len;
  nbd->offset = offset;
  nbd->polls = 0;
  nbd->in_flight = true;
  nbd->is_dead = server.closes_once;
  server.closes_once = false;
  return 1;
}

static int
fake_command_completed (struct nbd_handle *nbd, uint64_t cookie)
{
  unsigned char *bytes = nbd->buf;
  size_t i;

  assert_int_equal (cookie, 1);
  if (nbd->is_dead || server.reply == REPLY_UNKNOWN)
    return -1;
  if (server.reply == REPLY_NEVER || nbd->polls < 2)
    return 0;
  if (server.reply == REPLY_SLOWLY && nbd->polls < 250)
    return 0;
  nbd->in_flight = false;
  if (server.reply == REPLY_LOST)
    nbd->is_dead = true;
  if (server.reply == REPLY_LOST || server.reply == REPLY_ERROR)
    return -1;
  for (i = 0; i < nbd->len; i++)
    bytes[i] = (nbd->offset + i) % 251;
  return 1;
}

static int
fake_in_flight (struct nbd_handle *nbd)
{
  return nbd->in_flight;
}

/* Advances the clock by the whole timeout, without waiting. */
static int
fake_poll (struct nbd_handle *nbd, int timeout)
{
  assert_in_range (timeout, 1, 1000);
  assert_int_equal (enter (), 0);
  now += timeout;
  nbd->polls++;
  if (!nbd->is_connected && nbd->polls >= 3 && server.connect == CONNECT)
    nbd->is_connected = true;
  if (server.connect == CONNECT_ENDS && nbd->polls >= 3)
    nbd->is_dead = true;
  leave ();
  return 0;
}

struct libnbd libnbd = {
  .create = fake_create,
  .close = fake_close,
  .aio_disconnect = fake_disconnect,
  .set_uri_allow_transports = fake_allow_transports,
  .set_uri_allow_local_file = fake_allow_local_file,
  .aio_connect_uri = fake_connect_uri,
  .aio_is_connecting = fake_is_connecting,
  .aio_is_ready = fake_is_ready,
  .get_size = fake_get_size,
  .get_block_size = fake_get_block_size,
  .aio_pread = fake_pread,
  .aio_command_completed = fake_command_completed,
  .aio_in_flight = fake_in_flight,
  .poll = fake_poll,
};

int
libnbd_load (char *reason, size_t size)
{
  if (server.load_fails)
    strncpy (reason, "not loaded", size);
  return server.load_fails ? -1 : 0;
}

const char *
nbd_error_text (void)
{
  return "the server's reason";
}

/* ---- The client ---- */

static struct repair_nbd *nbd;

static int
set_up (void **state)
{
  (void) state;
  memset (&server, 0, sizeof server);
  server.size = SIZE;
  verify_params = (struct verify_params) { .repair_timeout = 30 };
  errors = 0;
  is_ending = false;
  nbd = repair_nbd_new ("nbd://server");
  return nbd ? 0 : -1;
}

static int
tear_down (void **state)
{
  (void) state;
  repair_nbd_free (nbd);
  return server.open;
}

/* Read LEN bytes at OFFSET, and check the content.  Each call acts as a request
 * of its own, which has not waited for the server before.
 */
static bool
read_range (size_t len, uint64_t offset)
{
  unsigned char *buf = malloc (len);
  uint64_t waited = 0;
  bool stopped = false, ends = false;
  bool r = repair_nbd_read (nbd, buf, len, offset, &waited, &stopped, &ends);
  size_t i;

  assert_int_equal (ends, server.connects > 0 && offset + len > server.size);

  for (i = 0; r && i < len; i++)
    assert_int_equal (buf[i], (offset + i) % 251);
  free (buf);
  return r;
}

static bool
read_one (void)
{
  return read_range (1000, 5000);
}

/* ---- Tests ---- */

static void
test_read (void **state)
{
  (void) state;
  assert_true (read_one ());
  assert_true (read_range (1, 0));
  assert_true (read_range (SIZE, 0));
  assert_true (read_range (1, SIZE - 1));
  assert_int_equal (server.connects, 1);
  assert_int_equal (server.requests, 4);
  assert_int_equal (errors, 0);
}

/* A range that goes beyond the end of the export is not requested. */
static void
test_size (void **state)
{
  (void) state;
  assert_false (read_range (1001, SIZE - 1000));
  assert_false (read_range (1000, SIZE));
  assert_false (read_range (1000, UINT64_C (1) << 62));
  assert_int_equal (server.requests, 0);
  assert_true (read_range (1000, SIZE - 1000));
  assert_int_equal (errors, 0);
}

static void
test_constraints (void **state)
{
  static const int64_t values[][2] = {
    { 1, 1000 }, { 512, 0 }, { 4096, 4096 }, { 4096, 5000 }, { 65536, 65536 },
    { 512, 1 }, { 3, 0 }, { 1 << 20, 0 }, { 0, 700 },
  };
  size_t i;

  (void) state;
  for (i = 0; i < sizeof values / sizeof values[0]; i++) {
    server.min = values[i][0];
    server.max = values[i][1];
    assert_true (read_range (1000, 777));
    assert_true (read_range (50000, SIZE - 50000));
    repair_nbd_free (nbd);
    nbd = repair_nbd_new ("nbd://server");
  }
  server.size = -1;
  assert_false (read_one ());
  assert_int_equal (errors, 1);
}

/* Read one block, for a request that reads several. */
static bool
read_block (uint64_t *waited)
{
  bool stopped = false, ends, r;
  char buf[10];

  r = repair_nbd_read (nbd, buf, 10, 0, waited, &stopped, &ends);
  assert_false (stopped);
  return r;
}

static void
test_no_reply (void **state)
{
  uint64_t waited = 0;

  (void) state;
  server.reply = REPLY_NEVER;
  assert_false (read_block (&waited));
  assert_string_equal (last_error, "blkhash-verify-repair-uri: nbd://server: "
                       "no reply in 30 seconds, suspended for 60 seconds");
  assert_int_equal (server.open, 0);

  /* For a minute, neither this request nor another one reads from the server.
   */
  server.reply = REPLY;
  assert_false (read_block (&waited));
  assert_false (read_one ());
  now += 50000;
  assert_false (read_one ());
  assert_int_equal (server.connects, 1);
  assert_int_equal (errors, 1);

  /* After the minute, requests read from the server again. */
  now += 11000;
  assert_true (read_one ());
  assert_int_equal (server.connects, 2);
}

static void
test_no_connection (void **state)
{
  (void) state;
  server.connect = CONNECT_NEVER;
  assert_false (read_one ());
  server.connect = CONNECT;
  assert_false (read_one ());
  assert_int_equal (errors, 1);
  now += 61000;
  assert_true (read_one ());
}

/* The times that one request waits for a slow server are added up.  When their
 * sum reaches the timeout, this request reads no more from the server; other
 * requests still do.
 */
static void
test_slow (void **state)
{
  uint64_t waited = 0;

  (void) state;
  server.reply = REPLY_SLOWLY;
  assert_true (read_block (&waited));
  assert_true (read_block (&waited));
  assert_false (read_block (&waited));
  assert_int_equal (server.requests, 2);
  assert_int_equal (errors, 0);
  assert_true (read_one ());
}

/* The times are added up for each server separately.  Here neither server has
 * the block, so requests are sent to both until each has used up its timeout.
 */
static void
test_two_servers (void **state)
{
  unsigned char buf[1000], leaf[BLKHASH_MAX_MD_SIZE] = { 0 };
  struct disk disk = { .size = SIZE, .block_size = sizeof buf };
  struct compare_batch block = { .first = 5, .count = 1, .leaves = leaf,
                                 .buf = buf };
  struct repair_waits waits = { .stopped = false };
  unsigned i;

  (void) state;
  disk.digest = digest_create ("sha256");
  assert_non_null (disk.digest);
  disk.leaf_size = digest_size (disk.digest);
  disk.engine = leaf_engine_create (disk.digest, disk.block_size);
  assert_non_null (disk.engine);
  for (i = 0; i < 2; i++)
    verify_params.repair[i] = (struct repair_param) {
      .name = "nbd://server", .is_uri = true
    };
  verify_params.nr_repair = 2;
  assert_int_equal (repair_open (), 0);
  server.reply = REPLY_SLOWLY;
  for (i = 0; i < 3; i++)
    assert_false (repair_read (&disk, &block, &waits));
  assert_int_equal (server.requests, 4);
  repair_close ();
  leaf_engine_free (disk.engine);
  digest_free (disk.digest);
}

/* Time that passes between the reads from the server, such as in the plugin,
 * does not count.
 */
static void
test_slow_plugin (void **state)
{
  uint64_t waited = 0;
  unsigned i;

  (void) state;
  for (i = 0; i < 10; i++) {
    assert_true (read_block (&waited));
    now += 50000;
  }
  assert_int_equal (server.connects, 1);
  assert_int_equal (errors, 0);
}

/* A connection that was not used for a minute is replaced by a new one. */
static void
test_idle (void **state)
{
  (void) state;
  assert_true (read_one ());
  now += 59000;
  assert_true (read_one ());
  assert_int_equal (server.connects, 1);
  now += 61000;
  assert_true (read_one ());
  assert_int_equal (server.connects, 2);
  assert_int_equal (errors, 0);
}

/* If libnbd refuses to send a request, the connection remains. */
static void
test_refuses (void **state)
{
  (void) state;
  assert_true (read_one ());
  server.refuses = true;
  assert_false (read_one ());
  assert_false (read_one ());
  assert_int_equal (errors, 1);
  assert_string_equal (last_error, "blkhash-verify-repair-uri: nbd://server: "
                       "the server's reason");
  server.refuses = false;
  assert_true (read_one ());
  assert_int_equal (server.connects, 1);
}

/* A server that fails is not suspended.  Only the first of the failures between
 * two successes is logged.
 */
static void
test_failures (void **state)
{
  (void) state;
  server.connect = CONNECT_FAILS;
  assert_false (read_one ());
  assert_false (read_one ());
  assert_int_equal (server.connects, 2);
  assert_int_equal (errors, 1);
  assert_string_equal (last_error, "blkhash-verify-repair-uri: nbd://server: "
                       "the server's reason");
  server.connect = CONNECT;
  assert_true (read_one ());
  server.load_fails = true;
  assert_true (read_one ());    /* libnbd is not loaded again */
  server.reply = REPLY_ERROR;
  assert_false (read_one ());
  assert_false (read_one ());
  assert_int_equal (errors, 2);
  server.reply = REPLY;
  assert_true (read_one ());
  assert_int_equal (server.connects, 3);
}

/* A read fails if the server refuses the connection, or if libnbd cannot be
 * limited to TCP, Unix sockets and vsock.
 */
static void
test_refused_connection (void **state)
{
  (void) state;
  server.connect = CONNECT_ENDS;
  assert_false (read_one ());
  assert_int_equal (errors, 1);
  assert_int_equal (server.open, 0);
  server.no_transports = true;
  assert_false (read_one ());
  assert_int_equal (server.connects, 1);
  assert_int_equal (server.open, 0);
  server.no_transports = false;
  server.connect = CONNECT;
  assert_true (read_one ());
}

static void
test_not_loaded (void **state)
{
  (void) state;
  server.load_fails = true;
  assert_false (read_one ());
  assert_string_equal (last_error, "blkhash-verify-repair-uri: nbd://server: "
                       "not loaded");
  server.load_fails = false;
  assert_true (read_one ());
}

/* If the server has closed the connection since the read before, the filter
 * connects again and repeats the read.  If the new connection is lost as well,
 * the read fails.
 */
static void
test_lost (void **state)
{
  (void) state;
  assert_true (read_one ());
  server.closes_once = true;
  assert_true (read_one ());
  assert_int_equal (server.connects, 2);
  assert_int_equal (errors, 0);
  server.reply = REPLY_LOST;
  assert_false (read_one ());
  assert_int_equal (server.connects, 3);
  assert_false (read_one ());
  assert_int_equal (server.connects, 4);
  assert_int_equal (errors, 1);
  server.reply = REPLY;
  assert_true (read_one ());
}

/* A read that ends because nbdkit or the client ends does not suspend the
 * server.
 */
static void
test_ending (void **state)
{
  uint64_t waited = 0;
  bool stopped = false, ends;
  char buf[10];

  (void) state;
  is_ending = true;
  assert_false (read_one ());
  assert_int_equal (server.connects, 0);
  is_ending = false;
  assert_true (read_one ());
  is_ending = true;
  server.reply = REPLY_NEVER;
  assert_false (repair_nbd_read (nbd, buf, 10, 0, &waited, &stopped, &ends));
  assert_true (stopped);
  is_ending = false;
  server.reply = REPLY;
  assert_true (read_one ());
  assert_int_equal (errors, 0);
}

static void *
read_in_thread (void *opaque)
{
  (void) opaque;
  return read_one () ? nbd : NULL;
}

/* Run THREADS requests at the same time.  Returns how many succeeded. */
static unsigned
read_at_once (void)
{
  pthread_t threads[THREADS];
  unsigned i, right = 0;

  for (i = 0; i < THREADS; i++)
    assert_int_equal (pthread_create (&threads[i], NULL, read_in_thread, NULL),
                      0);
  for (i = 0; i < THREADS; i++) {
    void *r;

    pthread_join (threads[i], &r);
    right += r != NULL;
  }
  return right;
}

/* One thread at a time uses the connection.  If the server does not reply, one
 * timeout ends the waits of all threads.
 */
static void
test_threads (void **state)
{
  (void) state;
  assert_int_equal (read_at_once (), THREADS);
  assert_int_equal (server.connects, 1);
  server.reply = REPLY_NEVER;
  assert_int_equal (read_at_once (), 0);
  assert_int_equal (errors, 1);
  assert_int_equal (server.requests, THREADS + 1);
  server.reply = REPLY;
  now += 61000;
  assert_int_equal (read_at_once (), THREADS);
}

/* If libnbd may still have a failed read in flight, the connection must be
 * closed before the read's buffer is freed.
 */
static void
test_unknown (void **state)
{
  (void) state;
  assert_true (read_one ());
  assert_int_equal (server.open, 1);
  server.reply = REPLY_UNKNOWN;
  assert_false (read_one ());
  assert_int_equal (server.open, 0);
  server.reply = REPLY;
  assert_true (read_one ());
}

int
main (void)
{
#define TEST(name) \
  cmocka_unit_test_setup_teardown (test_##name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    TEST (read), TEST (size), TEST (constraints), TEST (no_reply),
    TEST (no_connection), TEST (slow), TEST (two_servers),
    TEST (slow_plugin),
    TEST (idle), TEST (refuses), TEST (failures), TEST (not_loaded),
    TEST (refused_connection),
    TEST (lost), TEST (unknown), TEST (ending), TEST (threads),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
