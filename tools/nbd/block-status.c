/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The extents of an NBD export, by its block status: see nbd.h.
 *
 * The status of the next ranges is requested while the ranges before them are
 * read.  Otherwise reading a large sparse export over a network takes a round
 * trip for each range.  Requests that are sent ahead only save time.  If such a
 * request fails, or its reply does not include the offset that is needed, the
 * status is queried again, and only an error of that query counts.
 *
 * A server can fail to find the status of some ranges, and still read them, as
 * VDDK does near the end of some disks.  So if it replies with an error, the
 * range is read as data.  A lost connection, and a reply that violates the
 * protocol, are errors.  So is any failure of our own qemu-nbd, because it
 * means that the tables of the image are damaged, and of a server whose dirty
 * bitmap is used, because the same reply has both.
 *
 * The connection whose turn it is (see reader-ranges.h) sends the requests
 * ahead, and its thread handles the replies.  The thread whose turn it is
 * cannot wait for another thread, because that one may be waiting for its own
 * turn.  So if a connection needs the status of a range, and the request for it
 * is in flight on another connection, which is rare, the first connection
 * queries the range again.
 *
 * Nothing is requested ahead in these cases:
 *
 * - The server is our own qemu-nbd.  It is local, so a round trip takes little
 *   time.  And for a vmdk qemu caches so few tables that requests for several
 *   ranges at the same time would evict each other's tables.
 *
 * - The caller skipped a range, which shows that it does not read all ranges.
 *
 * - The last reply has MAX_AHEAD_EXTENTS extents or more: reading so many
 *   extents takes longer than a query.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/util.h"
#include "nbd/libnbd.h"
#include "nbd/nbd.h"
#include "util/error.h"
#include "util/extent.h"

/* The maximum length of a request, bytes.  nbdkit 1.32 aborts on a request for
 * 2^32 - 1 bytes.
 */
#define MAX_STATUS (UINT32_C (1) << 31)

/* The maximum number of extents (64 KiB) that are kept from a reply to a
 * request that was sent ahead.  A server can return a million.
 */
#define MAX_AHEAD_EXTENTS 4096

/* After so many failures in a row the server is not queried any more. */
#define MAX_FAILURES 8

void
nbd_extents_init (struct nbd_extents *extents, struct nbd_server *server,
                  uint64_t size)
{
  *extents = (struct nbd_extents) { .size = size, .server = server };
  pthread_mutex_init (&extents->lock, NULL);
  for (unsigned i = 0; i < NBD_AHEAD; i++)
    extents->ahead[i].all = extents;
}

void
nbd_extents_destroy (struct nbd_extents *extents)
{
  for (unsigned i = 0; i < NBD_AHEAD; i++)
    free (extents->ahead[i].reply.extents);
  free (extents->reply.extents);
  pthread_mutex_destroy (&extents->lock);
}

bool
nbd_can_extents (struct nbd_handle *nbd)
{
  return nbd_can_meta_context (nbd, LIBNBD_CONTEXT_BASE_ALLOCATION) == 1;
}

/* ---- Replies ---- */

/* Store up to MAX extents.  Only the flag for zeros is used, because a hole
 * without it can have any content.
 */
static int
store (struct nbd_reply *reply, const char *context, const uint32_t *entries,
       size_t count, size_t max, int *err)
{
  struct nbd_status *extents;

  if (strcmp (context, LIBNBD_CONTEXT_BASE_ALLOCATION) != 0 || count == 0)
    return 0;
  count = MIN (count, max);
  extents = realloc (reply->extents, count * sizeof *extents);
  if (!extents) {
    *err = ENOMEM;
    return -1;
  }
  for (size_t i = 0; i < count; i++)
    extents[i] = (struct nbd_status) {
      .len = entries[2 * i], .zero = entries[2 * i + 1] & LIBNBD_STATE_ZERO
    };
  reply->extents = extents;
  reply->count = count;
  return 0;
}

static int
store_all (void *opaque, const char *context, uint64_t offset,
           uint32_t *entries, size_t nr_entries, int *err)
{
  (void) offset;
  return store (opaque, context, entries, nr_entries / 2, SIZE_MAX, err);
}

static int
store_ahead (void *opaque, const char *context, uint64_t offset,
             uint32_t *entries, size_t nr_entries, int *err)
{
  struct nbd_ahead *ahead = opaque;

  (void) offset;
  return store (&ahead->reply, context, entries, nr_entries / 2,
                MAX_AHEAD_EXTENTS, err);
}

/* ---- Requests that are sent ahead ---- */

/* The completion callback of a request that was sent ahead.  libnbd calls it in
 * the thread of the connection.
 */
static int
ahead_done (void *opaque, int *err)
{
  struct nbd_ahead *ahead = opaque;
  bool is_good = *err == 0 && ahead->reply.count > 0;
  SCOPED_LOCK (&ahead->all->lock);

  if (ahead->state == NBD_AHEAD_SENT && is_good)
    ahead->state = NBD_AHEAD_REPLIED;
  else
    ahead->state = NBD_AHEAD_NONE;
  ahead->requester->in_flight--;
  return *err == 0;             /* see request_done in connection.c */
}

static bool
send_one (struct nbd_ahead *ahead)
{
  ahead->requester->in_flight++;
  if (nbd_aio_block_status (ahead->requester->nbd, ahead->end - ahead->start,
                            ahead->start,
                            (nbd_extent_callback) {
                              .callback = store_ahead, .user_data = ahead,
                            },
                            (nbd_completion_callback) {
                              .callback = ahead_done, .user_data = ahead,
                            }, 0) != -1)
    return true;
  ahead->requester->in_flight--;
  return false;
}

/* Returns the length of a request at OFFSET. */
static uint64_t
status_len (const struct nbd_extents *extents, uint64_t offset)
{
  return MIN (extents->size - offset, MAX_STATUS);
}

static void
set_state (struct nbd_ahead *ahead, int state)
{
  SCOPED_LOCK (&ahead->all->lock);

  ahead->state = state;
}

static bool
is_free (struct nbd_ahead *ahead)
{
  SCOPED_LOCK (&ahead->all->lock);

  return ahead->state == NBD_AHEAD_NONE;
}

static void
send_ahead (struct nbd_extents *extents)
{
  for (unsigned i = 0; i < NBD_AHEAD && extents->requested < extents->size &&
       extents->room > 0; i++) {
    struct nbd_ahead *ahead = &extents->ahead[i];

    if (!is_free (ahead))
      continue;
    ahead->requester = extents->requester;
    ahead->start = extents->requested;
    ahead->end = ahead->start + status_len (extents, ahead->start);
    ahead->reply.count = 0;
    ahead->reply.start = ahead->start;
    set_state (ahead, NBD_AHEAD_SENT);
    if (!send_one (ahead)) {
      set_state (ahead, NBD_AHEAD_NONE);
      return;
    }
    extents->requested = ahead->end;
    extents->room--;
  }
}

/* ---- Use of replies ---- */

static void
drop_locked (struct nbd_ahead *ahead)
{
  if (ahead->state == NBD_AHEAD_SENT)
    ahead->state = NBD_AHEAD_UNWANTED;
  else if (ahead->state == NBD_AHEAD_REPLIED)
    ahead->state = NBD_AHEAD_NONE;
}

static bool
is_pending_locked (const struct nbd_ahead *ahead)
{
  return ahead->state == NBD_AHEAD_SENT ||
    ahead->state == NBD_AHEAD_REPLIED;
}

/* Returns the request for OFFSET, or NULL.  Requests for earlier ranges are
 * dropped.
 */
static struct nbd_ahead *
find_ahead (struct nbd_extents *extents, uint64_t offset)
{
  struct nbd_ahead *found = NULL;
  SCOPED_LOCK (&extents->lock);

  for (unsigned i = 0; i < NBD_AHEAD; i++) {
    struct nbd_ahead *ahead = &extents->ahead[i];

    if (!is_pending_locked (ahead) || ahead->start > offset)
      continue;
    if (ahead->end > offset)
      found = ahead;
    else
      drop_locked (ahead);
  }
  return found;
}

/* Returns the start of the first pending request after OFFSET, or UINT64_MAX.
 */
static uint64_t
next_ahead (struct nbd_extents *extents, uint64_t offset)
{
  uint64_t start = UINT64_MAX;
  SCOPED_LOCK (&extents->lock);

  for (unsigned i = 0; i < NBD_AHEAD; i++) {
    const struct nbd_ahead *ahead = &extents->ahead[i];

    if (is_pending_locked (ahead) && ahead->start > offset)
      start = MIN (start, ahead->start);
  }
  return start;
}

static bool
is_in_flight (struct nbd_ahead *ahead)
{
  SCOPED_LOCK (&ahead->all->lock);

  return ahead->state == NBD_AHEAD_SENT;
}

/* Make the reply to AHEAD the current one.  If there is none, drop the request
 * and return false.
 */
static bool
use_ahead (struct nbd_extents *extents, struct nbd_ahead *ahead)
{
  SCOPED_LOCK (&extents->lock);

  if (ahead->state != NBD_AHEAD_REPLIED) {
    drop_locked (ahead);
    return false;
  }
  free (extents->reply.extents);
  extents->reply = ahead->reply;
  ahead->reply.extents = NULL;
  ahead->state = NBD_AHEAD_NONE;
  return true;
}

static int
fail (uint64_t offset, const char *reason, struct error *error)
{
  return error_set (error, "cannot get extents at offset %" PRIu64 ": %s",
                    offset, reason);
}

/* Is there a request ahead for OFFSET?  If so, use the reply to it. */
static enum answer
take_ahead (struct nbd_extents *extents, uint64_t offset,
            struct error *error)
{
  struct nbd_ahead *ahead = find_ahead (extents, offset);

  if (!ahead)
    return ANSWER_NO;
  if (ahead->requester == extents->requester)
    while (is_in_flight (ahead))
      if (nbd_poll (ahead->requester->nbd, -1) == -1)
        return fail (offset, nbd_error_text (), error);
  return use_ahead (extents, ahead) ? ANSWER_YES : ANSWER_NO;
}

/* ---- Failed queries ---- */

/* Returns true if the last call of libnbd, which was a query, failed because
 * the server replied with an error.  Then it can go on.  libnbd sets EPROTO if
 * it cannot use the reply, and ENOTCONN for requests that a lost connection
 * aborts.
 */
static bool
has_error_reply (struct nbd_handle *nbd)
{
  int err = nbd_get_errno ();

  return err != 0 && err != EPROTO && err != ENOTCONN &&
    nbd_aio_is_dead (nbd) == 0;
}

static bool
has_given_up (const struct nbd_extents *extents)
{
  return extents->server && extents->server->failures >= MAX_FAILURES;
}

static void
count_success (struct nbd_extents *extents)
{
  if (extents->server)
    extents->server->failures = 0;
}

/* Set the current reply to LEN bytes of data at OFFSET. */
static int
assume_data (struct nbd_extents *extents, uint64_t offset, uint64_t len,
             struct error *error)
{
  struct nbd_status *one;

  one = realloc (extents->reply.extents, sizeof *one);
  if (!one)
    return error_errno (error, ENOMEM, "cannot read");
  *one = (struct nbd_status) { .len = len };
  extents->reply = (struct nbd_reply) {
    .start = offset, .extents = one, .count = 1
  };
  extents->requested = MAX (extents->requested, offset + len);
  return 0;
}

/* The query for LEN bytes at OFFSET failed.  Returns 0 if they are to be read
 * as data, or -1 with the reason.
 */
static int
handle_failure (struct nbd_extents *extents, uint64_t offset, uint64_t len,
                struct error *error)
{
  struct nbd_server *server = extents->server;
  struct error warning = { "" };
  char reason[512];

  snprintf (reason, sizeof reason, "%s", nbd_error_text ());
  if (!server || !server->warn || !has_error_reply (extents->requester->nbd))
    return fail (offset, reason, error);
  server->failures++;
  if (!server->warned) {
    error_set (&warning, "cannot get extents at offset %" PRIu64 ": %s; ranges "
               "whose extents are not known are read as data", offset, reason);
    server->warn (server->name, &warning);
  }
  server->warned = true;
  return assume_data (extents, offset, len, error);
}

/* ---- Extents in order ---- */

static int
query (struct nbd_extents *extents, uint64_t offset, struct error *error)
{
  uint64_t len = MIN (status_len (extents, offset),
                      next_ahead (extents, offset) - offset);

  if (has_given_up (extents))
    return assume_data (extents, offset, extents->size - offset, error);
  extents->reply.count = 0;
  extents->reply.start = offset;
  if (nbd_block_status (extents->requester->nbd, len, offset,
                        (nbd_extent_callback) {
                          .callback = store_all, .user_data = &extents->reply,
                        }, 0) == -1)
    return handle_failure (extents, offset, len, error);
  if (extents->reply.count == 0)
    return error_set (error, "the server returned no block status at offset "
                      "%" PRIu64, offset);
  count_success (extents);
  extents->requested = MAX (extents->requested, offset + len);
  return 0;
}

/* Skip extents before OFFSET.  Returns true if extents->reply includes OFFSET.
 */
static bool
has_reply (struct nbd_extents *extents, uint64_t offset)
{
  const struct nbd_reply *reply = &extents->reply;

  while (extents->next < reply->count &&
         reply->extents[extents->next].len > 0 &&
         reply->extents[extents->next].len <= offset - extents->offset)
    extents->offset += reply->extents[extents->next++].len;
  return extents->next < reply->count;
}

/* Get the status of OFFSET, from a reply or by a query.  Returns 0 or -1. */
static int
fetch (struct nbd_extents *extents, uint64_t offset, struct error *error)
{
  enum answer taken = take_ahead (extents, offset, error);

  extents->next = 0;
  extents->offset = extents->reply.start;
  if (taken == ANSWER_YES && has_reply (extents, offset)) {
    count_success (extents);
    return 0;
  }
  if (taken == ANSWER_FAILED || query (extents, offset, error) == -1)
    return -1;
  extents->next = 0;
  extents->offset = offset;
  return 0;
}

int
nbd_extents_find (void *opaque, uint64_t offset, struct extent *extent,
                  struct error *error)
{
  struct nbd_extents *extents = opaque;
  const struct nbd_status *status;

  if (!has_reply (extents, offset)) {
    bool is_next = offset == extents->offset;

    if (fetch (extents, offset, error) == -1)
      return -1;
    if (is_next && extents->reply.count < MAX_AHEAD_EXTENTS)
      send_ahead (extents);
  }
  status = &extents->reply.extents[extents->next];
  extent->zero = status->zero;
  extent->len = status->len;
  if (extent->len > 0)
    extent->len -= offset - extents->offset;
  return 0;
}
