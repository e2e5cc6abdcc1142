/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Handles of libnbd, and the thread of an NBD connection.
 *
 * The thread keeps several reads in flight, so that a server with a high
 * latency stays busy.  It hashes the data of a read while the data is in the
 * cache of its CPU, unless a thread that only hashes is waiting.
 */

#include <config.h>

#include <errno.h>
#include <limits.h>

#include "../lib/common/clock.h"
#include "../lib/common/util.h"
#include "nbd/libnbd.h"
#include "nbd/nbd.h"
#include "util/error.h"

/* ---- Handles ---- */

struct nbd_handle *
nbd_handle_create (bool extents, struct error *error)
{
  struct nbd_handle *nbd;
  char reason[500];

  if (libnbd_load (reason, sizeof reason) == -1) {
    error_set (error, "%s", reason);
    return NULL;
  }
  nbd = nbd_create ();
  if (!nbd) {
    error_set (error, "%s", nbd_error_text ());
    return NULL;
  }
  /* The URI was given by the user, and may name a key file or a socket. */
  if (nbd_set_uri_allow_local_file (nbd, true) == -1 ||
      (extents &&
       nbd_add_meta_context (nbd, LIBNBD_CONTEXT_BASE_ALLOCATION) == -1)) {
    error_set (error, "%s", nbd_error_text ());
    nbd_close (nbd);
    return NULL;
  }
  return nbd;
}

int64_t
nbd_handle_size (struct nbd_handle *nbd, struct error *error)
{
  int64_t size = nbd_get_size (nbd);

  if (size >= 0)
    return size;
  /* libnbd returns 2^63 or more as a negative number, and sets no error. */
  return nbd_get_error ()
    ? error_set (error, "cannot get the size of the export: %s",
                 nbd_error_text ())
    : error_set (error, "the server reports a size of 2^63 bytes or more");
}

/* Close the handle without waiting for the server. */
void
nbd_handle_close (struct nbd_handle *nbd)
{
  if (!nbd)
    return;
  nbd_aio_disconnect (nbd, 0);
  nbd_close (nbd);
}

/* ---- Errors ---- */

/* Wake the thread that called nbd_export_scan, because the reader was stopped.
 */
static void
report_stop (struct nbd_reader *reader)
{
  SCOPED_LOCK (&reader->lock);

  pthread_cond_signal (&reader->changed);
}

void
nbd_reader_fail (struct nbd_reader *reader, const struct error *error)
{
  reader_fail (&reader->base, error);
  report_stop (reader);
}

static void
fail_nbd (struct nbd_reader *reader, const char *what)
{
  struct error error = { "" };

  error_set (&error, "%s: %s", what, nbd_error_text ());
  nbd_reader_fail (reader, &error);
}

/* ---- Hashing ---- */

static void
hash_buffer (struct nbd_reader *reader, struct buffer *buffer)
{
  reader_hash (&reader->base, buffer);
  if (reader_is_stopped (&reader->base))
    report_stop (reader);
}

void
nbd_reader_hash (struct nbd_reader *reader)
{
  struct buffer *buffer;

  while (reader_next (&reader->base, &buffer) == READER_HASH)
    hash_buffer (reader, buffer);
}

/* ---- Ranges ---- */

/* Returns how many more requests on CONN the options allow. */
static unsigned
room (const struct nbd_conn *conn)
{
  unsigned depth = conn->reader->queue_depth;
  unsigned used = conn->in_flight + conn->requester.in_flight;

  return depth == 0 ? UINT_MAX : depth > used ? depth - used : 0;
}

enum next_range
nbd_conn_next_range (void *opaque, struct range *range, struct error *error)
{
  struct nbd_conn *conn = opaque;
  struct nbd_reader *reader = conn->reader;

  reader->extents.requester = &conn->requester;
  if (reader->extents.server)
    reader->extents.room = MAX (room (conn), 1) - 1; /* leave room for a read */
  return cursor_next (&reader->base.ranges.cursor, range, error);
}

/* Set conn->next to the next range to read, unless it is set.  The length of
 * conn->next stays 0 if other ranges must be hashed first.  If the reader was
 * stopped, this is the end.
 */
static enum next_range
find_next (struct nbd_conn *conn)
{
  struct nbd_reader *reader = conn->reader;
  struct error error = { "" };
  enum next_range next = NEXT_FOUND;

  if (conn->next.range.len == 0)
    next = reader_ranges_try_next (&reader->base.ranges, conn, &conn->next,
                                   &error);
  if (next == NEXT_ERROR)
    nbd_reader_fail (reader, &error);
  return next;
}

/* ---- Reads ---- */

/* read_chunk and request_done run in the thread of the connection, inside a
 * call of libnbd.  Older versions of libnbd accept a structured reply whose
 * chunks do not cover the whole request, so the bytes that were received are
 * counted.
 */
static int
read_chunk (void *opaque, const void *bytes, size_t len, uint64_t offset,
            unsigned status, int *err)
{
  struct buffer *buffer = opaque;

  (void) bytes; (void) offset; (void) err;
  if (status == LIBNBD_READ_DATA || status == LIBNBD_READ_HOLE)
    buffer->received += len;
  return 0;
}

/* A request of LEN bytes ended. */
static int
request_done (struct buffer *buffer, size_t len, int *err)
{
  struct nbd_conn *conn = buffer->owner;
  struct nbd_reader *reader = conn->reader;
  bool last;

  conn->in_flight--;
  conn->in_flight_bytes -= len;
  buffer->completed += len;
  last = buffer->completed == buffer->len;
  if (*err == 0 && last && buffer->received != buffer->len)
    *err = EPROTO;
  if (*err) {
    if (*err == ENOTCONN)       /* nbd_conn_run reports the reason */
      conn->lost = true;
    else {
      reader_fail_errno (&reader->base, *err, "cannot read",
                         buffer->ranges[0].range.offset);
      report_stop (reader);
    }
    /* Do not return 1, which retires the command: if the connection was lost
     * within nbd_aio_pread_structured, libnbd 1.14 would use the command after
     * it was freed.  nbd_close frees it.
     */
    return 0;
  }
  if (last) {
    conn->reads--;
    buffer->waited = clock_ns () - buffer->start;
    reader_hand_over (&reader->base, buffer);
  }
  return 1;
}

/* Returns the length of the last request of a buffer.  All other requests of
 * the buffer have the maximum length.
 */
static size_t
last_request (const struct buffer *buffer)
{
  const struct nbd_conn *conn = buffer->owner;
  size_t max = conn->reader->max_request;

  return (buffer->len - 1) % max + 1;
}

static int
full_done (void *opaque, int *err)
{
  struct buffer *buffer = opaque;
  const struct nbd_conn *conn = buffer->owner;

  return request_done (buffer, conn->reader->max_request, err);
}

static int
last_done (void *opaque, int *err)
{
  struct buffer *buffer = opaque;

  return request_done (buffer, last_request (buffer), err);
}

/* The depth applies to all connections together. */
static bool
has_enough_reads (const struct nbd_conn *conn)
{
  struct nbd_reader *reader = conn->reader;
  unsigned depth = reader_depth (&reader->base);

  return conn->reads >= DIV_ROUND_UP (depth, reader->nr_conns);
}

/* Do the limits forbid a request of LEN bytes?  They allow any request if none
 * is in flight.
 */
static bool
is_full (const struct nbd_conn *conn, size_t len)
{
  const struct nbd_reader *reader = conn->reader;

  return conn->in_flight > 0 &&
    (room (conn) == 0 ||
     (reader->queue_size > 0 &&
      conn->in_flight_bytes + len > reader->queue_size) ||
     (!conn->filling && has_enough_reads (conn)));
}

/* Returns the number of bytes to request for conn->next. */
static size_t
next_len (const struct nbd_conn *conn)
{
  const struct nbd_reader *reader = conn->reader;
  const struct range *range = &conn->next.range;
  uint64_t len = ROUND_UP (range->len, (uint64_t) reader->min_request);

  return MIN (len, reader->end - range->offset);
}

/* Get a buffer for conn->next, if there is memory. */
static bool
start_buffer (struct nbd_conn *conn)
{
  struct nbd_reader *reader = conn->reader;
  struct buffer *buffer = reader_try_get (&reader->base, next_len (conn),
                                          conn->next.range.offset);

  if (!buffer)
    return false;
  buffer->owner = conn;
  buffer->start = clock_ns ();
  reader_ranges_move (&reader->base.ranges, &conn->next, &buffer->ranges[0]);
  buffer->nr_ranges = 1;
  conn->filling = buffer;
  conn->reads++;
  conn->next.range.len = 0;
  return true;
}

/* Request the next LEN bytes of the buffer that is being filled. */
static int
start_request (struct nbd_conn *conn, size_t len)
{
  struct buffer *buffer = conn->filling;
  size_t at = buffer->requested;

  buffer->requested += len;
  conn->in_flight++;
  conn->in_flight_bytes += len;
  if (buffer->requested == buffer->len)
    conn->filling = NULL;
  if (nbd_aio_pread_structured (conn->nbd, buffer->bytes + at, len,
                                buffer->ranges[0].range.offset + at,
                                (nbd_chunk_callback) {
                                  .callback = read_chunk, .user_data = buffer,
                                },
                                (nbd_completion_callback) {
                                  .callback = conn->filling ? full_done
                                                            : last_done,
                                  .user_data = buffer,
                                }, 0) == -1) {
    fail_nbd (conn->reader, nbd_aio_is_dead (conn->nbd) == 1
                            ? "lost the connection" : "cannot read");
    return -1;
  }
  return 0;
}

/* Start as many reads as the limits on reads in flight and on memory allow.
 * Returns the same as find_next.
 */
static enum next_range
start_reads (struct nbd_conn *conn)
{
  while (!conn->lost) {
    size_t len;
    enum next_range next = conn->filling ? NEXT_FOUND : find_next (conn);

    if (next != NEXT_FOUND)
      return next;
    len = conn->filling ? conn->filling->len - conn->filling->requested
                        : next_len (conn);
    if (len > conn->reader->max_request)
      len = conn->reader->max_request;
    if (len == 0 || is_full (conn, len))
      return NEXT_FOUND;
    if (!conn->filling && !start_buffer (conn))
      return NEXT_FOUND;
    if (start_request (conn, len) == -1)
      return NEXT_ERROR;
  }
  return NEXT_FOUND;
}

/* ---- The thread ---- */

/* nbdkit 1.32 can abort if its client disconnects while nbdkit sends a reply.
 * So wait for the replies to all requests in flight, also if they are not
 * needed.
 */
static void
await_replies (struct nbd_conn *conn)
{
  struct nbd_reader *reader = conn->reader;

  while (conn->in_flight + conn->requester.in_flight > 0 && !conn->lost) {
    {
      SCOPED_LOCK (&reader->lock);

      reader->events++;
      pthread_cond_signal (&reader->changed);
    }
    if (nbd_poll (conn->nbd, -1) == -1)
      break;
  }
}

static void
end (struct nbd_conn *conn)
{
  struct nbd_reader *reader = conn->reader;
  SCOPED_LOCK (&reader->lock);

  conn->ended = true;
  if (--reader->reading == 0)
    reader_end (&reader->base);
  reader->events++;
  pthread_cond_signal (&reader->changed);
}

void
nbd_conn_run (struct nbd_conn *conn)
{
  struct nbd_reader *reader = conn->reader;
  struct reader *base = &reader->base;
  enum next_range next = NEXT_FOUND;

  while (!reader_is_stopped (base)) {
    struct buffer *buffer;

    if (next == NEXT_FOUND)
      next = start_reads (conn);
    if (next == NEXT_ERROR ||
        (next == NEXT_END && conn->in_flight == 0 && !conn->lost))
      break;
    buffer = reader_try_hash (base);
    if (buffer)
      hash_buffer (reader, buffer);
    else if (conn->lost)
      fail_nbd (reader, "lost the connection");
    else if (conn->in_flight == 0 && conn->next.range.len == 0)
      reader_ranges_wait (&base->ranges);
    else if (conn->in_flight == 0)
      reader_wait_memory (base, next_len (conn), conn->next.range.offset);
    else if (nbd_poll (conn->nbd, -1) == -1)
      fail_nbd (reader, "lost the connection");
  }
  await_replies (conn);
  end (conn);
  nbd_reader_hash (reader);
}
