/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The thread of an NBD connection.
 *
 * It keeps several reads in flight, so that a server far away is kept busy,
 * and hashes what arrived, unless a thread that only hashes waits for it: data
 * is best hashed by who received it, while it is in the cache of that CPU.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "blkhash.h"

#include "../lib/cleanup.h"
#include "libnbd-load.h"
#include "nbd-conn.h"

/* ---- Errors ---- */

/* A connection may be waiting for a server that never answers. */
void
nbd_reader_fail (struct nbd_reader *reader, const struct error *error)
{
  unsigned i;
  SCOPED_LOCK (&reader->lock);

  if (error_is_set (&reader->error))
    return;
  reader->error = *error;
  queue_stop (&reader->queue);
  for (i = 0; i < reader->nr_conns; i++)
    shutdown (reader->conns[i].fd, SHUT_RDWR);
}

static void
fail_errno (struct nbd_reader *reader, int err, const char *what,
            uint64_t offset)
{
  struct error error = { "" };

  error_errno (&error, err, "%s at offset %llu", what,
               (unsigned long long) offset);
  nbd_reader_fail (reader, &error);
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
  int err = blkhash_leaves_data (reader->leaves, buffer->bytes, buffer->len,
                                 buffer->offset);

  if (err)
    fail_errno (reader, err, "cannot hash", buffer->offset);
  progress_add (&reader->progress, buffer->len);
  queue_free (&reader->queue, buffer);
}

void
nbd_reader_help (struct nbd_reader *reader)
{
  struct buffer *buffer;

  while ((buffer = queue_wait_buffer (&reader->queue)))
    hash_buffer (reader, buffer);
}

/* ---- Ranges ---- */

/* The next range, of which a part that one request can read.  1, 0 at the end
 * of the image, or -1 on error.
 */
static int
next_range (struct conn *conn, struct range *range)
{
  struct nbd_reader *reader = conn->reader;
  struct range *left = &reader->range;
  struct error error = { "" };
  int r = 1;
  SCOPED_LOCK (&reader->cursor_lock);

  if (left->len == 0) {
    reader->extents.nbd = conn->nbd;
    r = cursor_next (&reader->cursor, left, &error);
    if (r == -1)
      nbd_reader_fail (reader, &error);
    if (r != 1)
      return r;
  }
  *range = *left;
  if (range->zero)
    reader->hole += range->len;
  else if (range->len > reader->max_request)
    range->len = reader->max_request;
  left->offset += range->len;
  left->len -= range->len;
  return 1;
}

static int
put_zeros (struct nbd_reader *reader, const struct range *range)
{
  int err = blkhash_leaves_zero (reader->leaves, range->len, range->offset);

  if (err) {
    fail_errno (reader, err, "cannot hash", range->offset);
    return -1;
  }
  progress_add (&reader->progress, range->len);
  return 0;
}

/* Set conn->next to what is to be read next.  As next_range. */
static int
find_next (struct conn *conn)
{
  struct range range;

  while (conn->next.len == 0) {
    int r = next_range (conn, &range);

    if (r != 1)
      return r;
    if (!range.zero)
      conn->next = range;
    else if (put_zeros (conn->reader, &range) == -1)
      return -1;
  }
  return 1;
}

/* ---- Reads ---- */

/* This and the next run in the thread of the connection, inside a call of
 * libnbd.  Older versions of it do not notice when the chunks of a structured
 * reply are less than was asked for.
 */
static int
read_chunk (void *opaque, const void *bytes, size_t len, uint64_t offset,
            unsigned status, int *err)
{
  struct buffer *buffer = opaque;

  (void) bytes; (void) offset; (void) err;
  if (status == LIBNBD_READ_DATA || status == LIBNBD_READ_HOLE)
    buffer->seen += len;
  return 0;
}

static int
read_done (void *opaque, int *err)
{
  struct buffer *buffer = opaque;
  struct conn *conn = buffer->owner;
  struct nbd_reader *reader = conn->reader;

  conn->in_flight--;
  conn->in_flight_bytes -= buffer->len;
  if (*err == 0 && buffer->seen != buffer->len)
    *err = EPROTO;
  if (*err) {
    if (*err == ENOTCONN)       /* why is for conn_run to find out */
      conn->lost = true;
    else
      fail_errno (reader, *err, "cannot read", buffer->offset);
    queue_free (&reader->queue, buffer);
    /* Not 1: if it was lost in nbd_aio_pread, libnbd 1.14 would use the
     * command after it freed it.  nbd_close frees it.
     */
    return 0;
  }
  queue_put (&reader->queue, buffer);
  return 1;
}

static bool
is_full (const struct conn *conn)
{
  const struct nbd_reader *reader = conn->reader;

  return conn->in_flight > 0 &&
    (conn->in_flight >= reader->queue_depth ||
     conn->in_flight_bytes + conn->next.len > reader->queue_size);
}

static int
start_read (struct conn *conn, struct buffer *buffer)
{
  buffer->owner = conn;
  buffer->offset = conn->next.offset;
  conn->next.len = 0;
  conn->in_flight++;
  conn->in_flight_bytes += buffer->len;
  if (nbd_aio_pread_structured (conn->nbd, buffer->bytes, buffer->len,
                                buffer->offset,
                                (nbd_chunk_callback) {
                                  .callback = read_chunk, .user_data = buffer,
                                },
                                (nbd_completion_callback) {
                                  .callback = read_done, .user_data = buffer,
                                }, 0) == -1) {
    fail_nbd (conn->reader, nbd_aio_is_dead (conn->nbd) == 1
                            ? "lost the connection" : "cannot read");
    return -1;
  }
  return 0;
}

/* Start as many reads as may be in flight and there is memory for.  As
 * next_range.
 */
static int
start_reads (struct conn *conn)
{
  while (!conn->lost) {
    struct buffer *buffer;
    int r = find_next (conn);

    if (r != 1)
      return r;
    if (is_full (conn))
      return 1;
    buffer = queue_get (&conn->reader->queue, conn->next.len);
    if (!buffer)
      return 1;
    if (start_read (conn, buffer) == -1)
      return -1;
  }
  return 1;
}

/* ---- The thread ---- */

static void
end (struct nbd_reader *reader)
{
  SCOPED_LOCK (&reader->lock);

  if (--reader->reading == 0)
    queue_end (&reader->queue);
}

void
conn_run (struct conn *conn)
{
  struct nbd_reader *reader = conn->reader;
  int r = 1;

  while (!queue_is_stopped (&reader->queue)) {
    struct buffer *buffer;

    if (r == 1)
      r = start_reads (conn);
    if (r == -1 || (r == 0 && conn->in_flight == 0 && !conn->lost))
      break;
    buffer = queue_take (&reader->queue);
    if (buffer)
      hash_buffer (reader, buffer);
    else if (conn->lost)
      fail_nbd (reader, "lost the connection");
    else if (conn->in_flight == 0)
      queue_wait_memory (&reader->queue, conn->next.len);
    else if (nbd_poll (conn->nbd, -1) == -1)
      fail_nbd (reader, "lost the connection");
  }
  end (reader);
  nbd_reader_help (reader);
}
