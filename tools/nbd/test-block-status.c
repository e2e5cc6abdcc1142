/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Unit test: the block status of an export is requested ahead.  The extents are
 * right whatever the length and the order of the replies are, and even if a
 * request that was sent ahead fails.
 */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../lib/common/util.h"
#include "nbd/libnbd.h"
#include "nbd/nbd.h"
#include "util/error.h"
#include "util/extent.h"

#define STATUS (UINT64_C (1) << 31) /* bytes of the range of a request */
#define BLOCK (STATUS / 16)
#define BLOCKS 400
#define SIZE (BLOCKS * BLOCK - 1)
#define CONNS 3
#define MAX_PENDING (CONNS * NBD_AHEAD)
#define ROUNDS 300
#define MANY 5000               /* extents: more than are kept */

/* ---- A server that replies when its connection is polled ---- */

struct pending {
  struct nbd_handle *nbd;
  uint64_t start, len;
  nbd_extent_callback extent;
  nbd_completion_callback done;
};

static struct {
  bool zero[BLOCKS];
  struct pending pending[MAX_PENDING]; /* oldest first */
  unsigned count;
  unsigned sent, asked;         /* numbers of requests: sent ahead, and not */
  uint64_t asked_at;            /* offset of the last request not sent ahead */
  bool in_order, whole;         /* are the replies in order; do they cover the
                                 * whole range? */
  unsigned tiny;                /* number of short extents in a reply, or 0 */
  /* FAIL_AHEAD: requests sent ahead fail.  FAIL: other requests fail.
   * SAY_NOTHING: replies have no extents.  DEAD: the connection is lost.
   */
  bool fail_ahead, fail, say_nothing, dead;
  int err;                      /* errno of failures */
} server;

static unsigned seed = 1;

static unsigned
rnd (unsigned below)
{
  return rand_r (&seed) % below;
}

/* Store the extents from START on in ENTRIES: of LEN bytes, or fewer, or more.
 * Returns their number.
 */
static size_t
make_entries (uint64_t start, uint64_t len, uint32_t *entries)
{
  size_t n = 0, max = server.whole ? SIZE_MAX : 1 + rnd (20);
  uint64_t at = start, end = start + len;

  for (; n < max && at < end; n++) {
    bool zero = server.zero[at / BLOCK];
    uint64_t to = at;

    while (to < SIZE && to - at < STATUS && server.zero[to / BLOCK] == zero)
      to = MIN ((to / BLOCK + 1) * BLOCK, SIZE);
    if (server.whole || rnd (2))
      to = MIN (to, end);
    entries[2 * n] = to - at;
    entries[2 * n + 1] = zero ? LIBNBD_STATE_ZERO | LIBNBD_STATE_HOLE : 0;
    at = to;
  }
  return n;
}

static size_t
make_tiny (uint32_t *entries)
{
  for (unsigned i = 0; i < server.tiny; i++) {
    entries[2 * i] = 512;
    entries[2 * i + 1] = 0;
  }
  return server.tiny;
}

static int
answer (const nbd_extent_callback *extent, uint64_t start, uint64_t len)
{
  static uint32_t entries[2 * MANY];
  size_t n = server.tiny ? make_tiny (entries)
                         : make_entries (start, len, entries);
  int err = 0;

  if (server.say_nothing)
    return 0;
  extent->callback (extent->user_data, "qemu:allocation-depth", start, entries,
                    2, &err);
  extent->callback (extent->user_data, "base:allocation", start, entries,
                    2 * n, &err);
  return err;
}

/* Complete the pending request with index N. */
static void
complete (unsigned n)
{
  struct pending pending = server.pending[n];
  int err = server.fail_ahead || (!server.whole && rnd (8) == 0) ? EIO : 0;

  server.count--;
  memmove (&server.pending[n], &server.pending[n + 1],
           (server.count - n) * sizeof pending);
  if (err == 0)
    err = answer (&pending.extent, pending.start, pending.len);
  pending.done.callback (pending.done.user_data, &err);
}

/* Complete a request on NBD, or on any connection if NBD is NULL.  Returns
 * false if none is pending.
 */
static bool
complete_one (const struct nbd_handle *nbd)
{
  unsigned which[MAX_PENDING], n = 0;

  for (unsigned i = 0; i < server.count; i++)
    if (!nbd || server.pending[i].nbd == nbd)
      which[n++] = i;
  if (n == 0)
    return false;
  complete (which[server.in_order ? 0 : rnd (n)]);
  return true;
}

static int64_t
fake_aio_block_status (struct nbd_handle *nbd, uint64_t len, uint64_t offset,
                       nbd_extent_callback extent,
                       nbd_completion_callback done, uint32_t flags)
{
  assert_int_equal (flags, 0);
  assert_true (len > 0 && len <= STATUS && offset + len <= SIZE);
  assert_true (server.count < MAX_PENDING);
  if (server.dead)
    return -1;
  server.sent++;
  server.pending[server.count++] = (struct pending) {
    nbd, offset, len, extent, done
  };
  return 1;
}

static int
fake_block_status (struct nbd_handle *nbd, uint64_t len, uint64_t offset,
                   nbd_extent_callback extent, uint32_t flags)
{
  assert_int_equal (flags, 0);
  assert_true (len > 0 && len <= STATUS && offset + len <= SIZE);
  server.asked++;
  server.asked_at = offset;
  /* Replies to requests ahead can arrive before the reply to this query. */
  while (rnd (2) && complete_one (nbd))
    ;
  return server.fail || answer (&extent, offset, len) ? -1 : 0;
}

static int
fake_poll (struct nbd_handle *nbd, int timeout)
{
  assert_int_equal (timeout, -1);
  if (server.dead)
    return -1;
  assert_true (complete_one (nbd));
  return 1;
}

static int
fake_get_errno (void)
{
  return server.err;
}

static int
fake_aio_is_dead (struct nbd_handle *nbd)
{
  (void) nbd;
  return server.dead;
}

struct libnbd libnbd = {
  .get_errno = fake_get_errno,
  .aio_is_dead = fake_aio_is_dead,
  .aio_block_status = fake_aio_block_status,
  .block_status = fake_block_status,
  .poll = fake_poll,
};

const char *
nbd_error_text (void)
{
  return "the server's reason";
}

/* ---- The client ---- */

static struct nbd_extents extents;
static struct nbd_server remote;
static unsigned warnings;
static struct nbd_requester askers[CONNS];
static unsigned max_in_flight;

static void
count_warning (const char *name, const struct error *error)
{
  assert_string_equal (name, "the operand");
  assert_non_null (strstr (error->text, "cannot get extents at offset"));
  assert_non_null (strstr (error->text, "the server's reason"));
  warnings++;
}

static int
start (void **state)
{
  (void) state;
  memset (&server, 0, sizeof server);
  server.err = EIO;
  warnings = 0;
  remote = (struct nbd_server) {
    .name = "the operand", .warn = count_warning
  };
  server.in_order = server.whole = true;
  for (unsigned i = 0; i < BLOCKS; i++)
    server.zero[i] = rnd (2);
  for (unsigned i = 0; i < CONNS; i++)
    askers[i] = (struct nbd_requester) { .nbd = (void *) &askers[i] };
  nbd_extents_init (&extents, &remote, SIZE);
  max_in_flight = NBD_AHEAD;
  return 0;
}

static int
end (void **state)
{
  (void) state;
  while (complete_one (NULL))
    ;
  for (unsigned i = 0; i < CONNS; i++)
    assert_int_equal (askers[i].in_flight, 0);
  nbd_extents_destroy (&extents);
  return 0;
}

static int
find (unsigned conn, uint64_t offset, struct extent *extent,
      struct error *error)
{
  extents.requester = &askers[conn];
  extents.room = max_in_flight - askers[conn].in_flight;
  return nbd_extents_find (&extents, offset, extent, error);
}

/* Check the extent at OFFSET.  Returns its end. */
static uint64_t
check_at (unsigned conn, uint64_t offset)
{
  struct error error = { "" };
  struct extent extent;

  assert_int_equal (find (conn, offset, &extent, &error), 0);
  assert_true (extent.len > 0);
  for (uint64_t at = offset; at < MIN (offset + extent.len, SIZE);
       at = (at / BLOCK + 1) * BLOCK)
    assert_int_equal (extent.zero, server.zero[at / BLOCK]);
  for (unsigned i = 0; i < CONNS; i++)
    assert_true (askers[i].in_flight <= max_in_flight);
  return offset + extent.len;
}

/* ---- Tests ---- */

/* When the first reply is used, the next requests are sent ahead, and from then
 * on some are always in flight.  Only the first request is not sent ahead.
 */
static void
test_ahead (void **state)
{
  uint64_t at;

  (void) state;
  at = check_at (0, 0);
  assert_int_equal (server.count, NBD_AHEAD);
  for (unsigned i = 0; i < NBD_AHEAD; i++)
    assert_int_equal (server.pending[i].start, (i + 1) * STATUS);
  while (at < SIZE / 2) {
    at = check_at (0, at);
    assert_true (server.count >= NBD_AHEAD - 1);
  }
  while (at < SIZE)
    at = check_at (0, at);
  assert_int_equal (server.count, 0);
  assert_int_equal (server.asked, 1);
  assert_int_equal (server.sent, SIZE / STATUS);
}

/* A thread does not wait for a reply on another connection, but queries. */
static void
test_other_connection (void **state)
{
  uint64_t at;

  (void) state;
  for (at = 0; at < STATUS; )
    at = check_at (0, at);
  check_at (1, STATUS);
  assert_int_equal (server.asked, 2);
  assert_int_equal (server.asked_at, STATUS);
}

/* If ranges are skipped, nothing is requested ahead. */
static void
test_skip (void **state)
{
  (void) state;
  for (uint64_t at = STATUS; at + STATUS < SIZE; at += 2 * STATUS)
    check_at (0, at);
  assert_int_equal (server.sent, 0);
}

/* After a reply with very many extents, nothing is requested ahead. */
static void
test_many_extents (void **state)
{
  (void) state;
  server.tiny = MANY;
  memset (server.zero, 0, sizeof server.zero);
  for (uint64_t at = 0; at < 2 * MANY * 512; )
    at = check_at (0, at);
  assert_int_equal (server.asked, 2);
  assert_int_equal (server.sent, 0);
}

/* A limited number of extents is kept from a reply to a request ahead. */
static void
test_many_ahead (void **state)
{
  uint64_t at = 0;

  (void) state;
  memset (server.zero, 0, sizeof server.zero);
  at = check_at (0, at);
  server.tiny = MANY;
  for (at = STATUS; at < STATUS + MANY * 512; )
    at = check_at (0, at);
  assert_int_equal (server.asked, 2);
  assert_true (server.asked_at < STATUS + MANY * 512);
}

/* No more requests are sent ahead than the options allow. */
static void
test_room (void **state)
{
  (void) state;
  max_in_flight = 2;
  check_at (0, 0);
  assert_int_equal (server.count, 2);
}

/* An error of a request ahead is not reported: the status is queried again. */
static void
test_errors_ahead (void **state)
{
  (void) state;
  server.fail_ahead = true;
  for (uint64_t at = 0; at < 4 * STATUS; )
    at = check_at (0, at);
  assert_true (server.asked >= 4);
  assert_int_equal (warnings, 0);
}

/* Check that the extent at OFFSET is data.  Returns its end. */
static uint64_t
check_data (uint64_t offset)
{
  struct error error = { "" };
  struct extent extent;

  assert_int_equal (find (0, offset, &extent, &error), 0);
  assert_false (extent.zero);
  return offset + extent.len;
}

/* If the server replies to a query with an error, the range is read as data.
 * After eight failures in a row the server is not queried any more.
 */
static void
test_error_replies (void **state)
{
  uint64_t at = 0;

  (void) state;
  memset (server.zero, 1, sizeof server.zero);
  for (int i = 0; i < 2; i++) {
    server.fail = server.fail_ahead = true;
    for (int j = 0; j < 7; j++)
      at = check_data (at);
    while (complete_one (NULL)) /* requests sent ahead fail, too */
      ;
    server.fail = server.fail_ahead = false;
    at = check_at (0, at);
  }
  assert_int_equal (at, 16 * STATUS);
  assert_int_equal (warnings, 1);

  server.fail = server.fail_ahead = true;
  while (complete_one (NULL))
    ;
  server.asked = server.sent = 0;
  for (int i = 0; i < 8; i++)
    at = check_data (at);
  assert_int_equal (server.asked, 8);
  server.asked = server.sent = 0;
  assert_int_equal (check_data (at), SIZE);
  assert_int_equal (server.asked + server.sent, 0);

  /* Nor by the next scan. */
  end (state);
  nbd_extents_init (&extents, &remote, SIZE);
  assert_int_equal (check_data (0), SIZE);
  assert_int_equal (server.asked + server.sent, 0);
  assert_int_equal (warnings, 1);
}

static void
check_fails (void)
{
  struct error error = { "" };
  struct extent extent;

  server.fail = true;
  assert_int_equal (find (0, 0, &extent, &error), -1);
  assert_non_null (strstr (error.text, "cannot get extents at offset 0: "
                           "the server's reason"));
  assert_int_equal (warnings, 0);
}

/* Other failures are errors: the reply violates the protocol, or the connection
 * is lost.
 */
static void
test_other_errors (void **state)
{
  static const int errors[] = { EPROTO, ENOTCONN, 0 };

  (void) state;
  for (unsigned i = 0; i < sizeof errors / sizeof *errors; i++) {
    server.err = errors[i];
    check_fails ();
  }
  server.err = EIO;
  server.dead = true;
  check_fails ();
}

/* An error reply is an error for our own qemu-nbd, and for dirty bitmaps. */
static void
test_strict (void **state)
{
  (void) state;
  remote.warn = NULL;
  check_fails ();
  extents.server = NULL;
  check_fails ();
}

/* A reply without block status is an error. */
static void
test_nothing (void **state)
{
  struct error error = { "" };
  struct extent extent;
  uint64_t at;

  (void) state;
  for (at = 0; at < STATUS; )
    at = check_at (0, at);
  server.say_nothing = true;
  assert_int_equal (find (0, at, &extent, &error), -1);
  assert_non_null (strstr (error.text, "no block status at offset"));
}

/* It is an error if the connection is lost while the status is requested. */
static void
test_lost (void **state)
{
  struct error error = { "" };
  struct extent extent;
  uint64_t at;

  (void) state;
  for (at = 0; at < STATUS; )
    at = check_at (0, at);
  server.dead = true;
  assert_int_equal (find (0, at, &extent, &error), -1);
  assert_non_null (strstr (error.text, "the server's reason"));
}

/* With random replies, the extents are those of the export. */
static void
test_random (void **state)
{
  for (int i = 0; i < ROUNDS; i++) {
    end (state);
    start (state);
    server.in_order = rnd (2);
    server.whole = rnd (2);
    max_in_flight = rnd (NBD_AHEAD + 1);
    for (uint64_t at = 0; at < SIZE; ) {
      if (rnd (4) == 0)
        complete_one (NULL);
      if (rnd (50) == 0)
        at += rnd (3 * 16) * BLOCK;
      if (at < SIZE)
        at = check_at (rnd (CONNS), at);
      else
        break;
    }
  }
}

#define TEST(name) cmocka_unit_test_setup_teardown (name, start, end)

int
main (void)
{
  const struct CMUnitTest tests[] = {
    TEST (test_ahead),
    TEST (test_other_connection),
    TEST (test_skip),
    TEST (test_many_extents),
    TEST (test_many_ahead),
    TEST (test_room),
    TEST (test_errors_ahead),
    TEST (test_error_replies),
    TEST (test_other_errors),
    TEST (test_strict),
    TEST (test_nothing),
    TEST (test_lost),
    TEST (test_random),
  };

  return cmocka_run_group_tests (tests, NULL, NULL);
}
