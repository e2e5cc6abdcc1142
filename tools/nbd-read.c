/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An NBD export that has been connected to.
 *
 * Each connection has a thread that keeps several reads in flight, so that a
 * server far away is kept busy, and never waits for hashing.  What arrives is
 * put in a queue, from which the hashing threads take it.  Buffers go round:
 * idle, in flight, in the queue, idle.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "blkhash.h"

#include "../lib/cleanup.h"
#include "cursor.h"
#include "error.h"
#include "libnbd-load.h"
#include "nbd-extents.h"
#include "nbd-read.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "source.h"

#define MAX_THREADS 128
#define MAX_REQUEST (32 * 1024 * 1024) /* bytes, what every server takes */

struct buffer {
  struct buffer *next;          /* in the idle list or in the queue */
  struct conn *conn;            /* that reads into it */
  uint64_t offset;
  size_t len;                   /* asked for, */
  size_t seen;                  /* and of this in the chunks that arrived */
  unsigned char *bytes;
};

struct conn {
  struct reader *reader;
  struct nbd_handle *nbd;
  int fd;                       /* of the socket, to wake its thread */
  pthread_t thread;
  unsigned in_flight;           /* of its thread: reads, */
  size_t in_flight_bytes;       /* and their bytes; */
  bool lost;                    /* and whether the connection is gone */
};

struct reader {
  struct blkhash_leaves *leaves;
  struct buffer *buffers;
  unsigned char *memory;        /* of all buffers */
  struct progress progress;
  struct conn conns[NBD_MAX_CONNS];
  unsigned nr_conns;
  size_t max_request, queue_size; /* bytes */
  unsigned queue_depth;         /* requests on a connection */

  /* Where to read next.  Held while the server is asked for extents, so never
   * take it with QUEUE_LOCK held.
   */
  pthread_mutex_t cursor_lock;
  struct cursor cursor;
  struct range range;           /* what is left of the last range */
  struct nbd_extents extents;
  uint64_t hole;                /* bytes in ranges that were not read */

  pthread_mutex_t queue_lock;   /* protects the rest */
  pthread_cond_t has_idle, has_queue; /* or there is an error or the end */
  struct buffer *idle;
  struct buffer *queue, **queue_tail;
  unsigned readers;             /* connections that are still reading */
  struct error error;           /* the first of any thread; stops all */
};

/* ---- Errors ---- */

/* A connection may be waiting for a server that never answers. */
static void
wake_conns_locked (struct reader *reader)
{
  unsigned i;

  for (i = 0; i < reader->nr_conns; i++)
    shutdown (reader->conns[i].fd, SHUT_RDWR);
  pthread_cond_broadcast (&reader->has_idle);
  pthread_cond_broadcast (&reader->has_queue);
}

static void
fail (struct reader *reader, const struct error *error)
{
  SCOPED_LOCK (&reader->queue_lock);

  if (!error_is_set (&reader->error)) {
    reader->error = *error;
    wake_conns_locked (reader);
  }
}

static void
fail_errno (struct reader *reader, int err, const char *what,
            uint64_t offset)
{
  struct error error = { "" };

  error_errno (&error, err, "%s at offset %llu", what,
               (unsigned long long) offset);
  fail (reader, &error);
}

static void
fail_nbd (struct reader *reader, const char *what)
{
  struct error error = { "" };

  error_set (&error, "%s: %s", what, nbd_error_text ());
  fail (reader, &error);
}

static bool
failed (struct reader *reader)
{
  SCOPED_LOCK (&reader->queue_lock);

  return error_is_set (&reader->error);
}

/* ---- Connections ---- */

/* The next range, of which a part that one request can read; -1 on error. */
static int
next_range (struct conn *conn, struct range *range, struct error *error)
{
  struct reader *reader = conn->reader;
  struct range *left = &reader->range;
  SCOPED_LOCK (&reader->cursor_lock);

  if (left->len == 0) {
    int r;

    reader->extents.nbd = conn->nbd;
    r = cursor_next (&reader->cursor, left, error);
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

/* A buffer, or NULL; waits for one if WAIT, but not after an error. */
static struct buffer *
get_idle (struct reader *reader, bool wait)
{
  struct buffer *buffer;
  SCOPED_LOCK (&reader->queue_lock);

  while (wait && !reader->idle && !error_is_set (&reader->error))
    pthread_cond_wait (&reader->has_idle, &reader->queue_lock);
  if (error_is_set (&reader->error))
    return NULL;
  buffer = reader->idle;
  if (buffer)
    reader->idle = buffer->next;
  return buffer;
}

static void
put_idle (struct reader *reader, struct buffer *buffer)
{
  SCOPED_LOCK (&reader->queue_lock);

  buffer->next = reader->idle;
  reader->idle = buffer;
  pthread_cond_signal (&reader->has_idle);
}

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
  struct conn *conn = buffer->conn;
  struct reader *reader = conn->reader;

  conn->in_flight--;
  conn->in_flight_bytes -= buffer->len;
  if (*err == 0 && buffer->seen != buffer->len)
    *err = EPROTO;
  if (*err) {
    if (*err == ENOTCONN)       /* why is for run_conn to find out */
      conn->lost = true;
    else
      fail_errno (reader, *err, "cannot read", buffer->offset);
    put_idle (reader, buffer);
    /* Not 1: if it was lost in nbd_aio_pread, libnbd 1.14 would use the
     * command after it freed it.  nbd_close frees it.
     */
    return 0;
  }

  SCOPED_LOCK (&reader->queue_lock);
  buffer->next = NULL;
  *reader->queue_tail = buffer;
  reader->queue_tail = &buffer->next;
  pthread_cond_signal (&reader->has_queue);
  return 1;
}

static bool
queue_is_full (const struct conn *conn)
{
  const struct reader *reader = conn->reader;

  return conn->in_flight > 0 &&
    (conn->in_flight >= reader->queue_depth ||
     conn->in_flight_bytes + reader->max_request > reader->queue_size);
}

static int
start_read (struct conn *conn, struct buffer *buffer,
            const struct range *range)
{
  buffer->conn = conn;
  buffer->offset = range->offset;
  buffer->len = range->len;
  buffer->seen = 0;
  conn->in_flight++;
  conn->in_flight_bytes += range->len;
  if (nbd_aio_pread_structured (conn->nbd, buffer->bytes, range->len,
                                range->offset,
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

/* Start as many reads as may be in flight.  1, 0 at the end of the image, or
 * -1 on error.
 */
static int
fill_queue (struct conn *conn)
{
  struct reader *reader = conn->reader;

  while (!queue_is_full (conn) && !conn->lost) {
    struct buffer *buffer = get_idle (reader, conn->in_flight == 0);
    struct error error = { "" };
    struct range range;
    int r;

    if (!buffer)
      return failed (reader) ? -1 : 1;
    r = next_range (conn, &range, &error);
    if (r != 1 || range.zero)
      put_idle (reader, buffer);
    if (r == -1)
      fail (reader, &error);
    if (r != 1)
      return r;
    if (range.zero) {
      int err = blkhash_leaves_zero (reader->leaves, range.len,
                                     range.offset);

      if (err) {
        fail_errno (reader, err, "cannot hash", range.offset);
        return -1;
      }
      progress_add (&reader->progress, range.len);
    }
    else if (start_read (conn, buffer, &range) == -1)
      return -1;
  }
  return 1;
}

static void *
run_conn (void *opaque)
{
  struct conn *conn = opaque;
  struct reader *reader = conn->reader;
  int r = 1;

  while (!failed (reader)) {
    if (r == 1)
      r = fill_queue (conn);
    if (r == -1 || (r == 0 && conn->in_flight == 0))
      break;
    if (conn->lost ||
        (conn->in_flight > 0 && nbd_poll (conn->nbd, -1) == -1)) {
      fail_nbd (reader, "lost the connection");
      break;
    }
  }

  SCOPED_LOCK (&reader->queue_lock);
  reader->readers--;
  pthread_cond_broadcast (&reader->has_queue);
  return NULL;
}

/* ---- Hashing ---- */

/* The next buffer; NULL when no more will come. */
static struct buffer *
take_from_queue (struct reader *reader)
{
  struct buffer *buffer;
  SCOPED_LOCK (&reader->queue_lock);

  while (!reader->queue && reader->readers > 0 &&
         !error_is_set (&reader->error))
    pthread_cond_wait (&reader->has_queue, &reader->queue_lock);
  buffer = reader->queue;
  if (!buffer || error_is_set (&reader->error))
    return NULL;
  reader->queue = buffer->next;
  if (!reader->queue)
    reader->queue_tail = &reader->queue;
  return buffer;
}

static void *
run_hasher (void *opaque)
{
  struct reader *reader = opaque;
  struct buffer *buffer;

  while ((buffer = take_from_queue (reader))) {
    int err = blkhash_leaves_data (reader->leaves, buffer->bytes,
                                   buffer->len, buffer->offset);

    if (err)
      fail_errno (reader, err, "cannot hash", buffer->offset);
    progress_add (&reader->progress, buffer->len);
    put_idle (reader, buffer);
  }
  return NULL;
}

/* ---- The whole ---- */

/* Threads start in any order: all are counted before the first. */
static void
run_threads (struct reader *reader, unsigned hashers)
{
  pthread_t threads[MAX_THREADS];
  unsigned i, started = 0, conns = 0;

  reader->readers = reader->nr_conns;
  for (i = 1; i < hashers; i++)
    if (pthread_create (&threads[started], NULL, run_hasher, reader) == 0)
      started++;
  for (conns = 0; conns < reader->nr_conns; conns++) {
    struct conn *conn = &reader->conns[conns];
    int err = pthread_create (&conn->thread, NULL, run_conn, conn);

    if (err) {
      struct error error = { "" };

      error_errno (&error, err, "cannot start a thread");
      fail (reader, &error);
      break;
    }
  }
  run_hasher (reader);
  for (i = 0; i < started; i++)
    pthread_join (threads[i], NULL);
  for (i = 0; i < conns; i++)
    pthread_join (reader->conns[i].thread, NULL);
}

/* Sizes of requests: a range is of whole blocks where the server takes
 * requests that long, and in pieces of them where it does not.
 */
static int
setup_requests (struct reader *reader, const struct options *options,
                struct nbd_handle *nbd, uint64_t size)
{
  int64_t min = nbd_get_block_size (nbd, LIBNBD_SIZE_MINIMUM);
  int64_t max = nbd_get_block_size (nbd, LIBNBD_SIZE_MAXIMUM);
  uint64_t align = blkhash_opts_get_block_size (options->hash);

  if (min <= 0)
    min = 1;
  if (max <= 0 || max > MAX_REQUEST)
    max = MAX_REQUEST;
  if ((min & (min - 1)) != 0 || min > max)
    return error_set (&reader->error, "the server takes requests of %lld to "
                      "%lld bytes, which makes no sense",
                      (long long) min, (long long) max);
  if (align < min)
    align = min;

  nbd_extents_init (&reader->extents, size);
  cursor_init (&reader->cursor, size, align, options->read_size,
               options->extents && nbd_can_extents (nbd) ? nbd_extent_at
                                                         : NULL,
               &reader->extents);
  reader->max_request = reader->cursor.max_read;
  if (reader->max_request > max)
    reader->max_request = max & ~(min - 1);
  reader->queue_depth = options->queue_depth;
  reader->queue_size = options->queue_size;
  return 0;
}

/* As many as can be in flight, and one for each thread that hashes. */
static int
alloc_buffers (struct reader *reader, unsigned hashers)
{
  uint64_t depth = reader->queue_size / reader->max_request;
  unsigned i, count;

  if (depth > reader->queue_depth)
    depth = reader->queue_depth;
  if (depth < 1)
    depth = 1;
  count = reader->nr_conns * depth + hashers;
  reader->buffers = calloc (count, sizeof *reader->buffers);
  reader->memory = malloc (count * reader->max_request);
  if (!reader->buffers || !reader->memory)
    return -1;
  for (i = 0; i < count; i++)
    reader->buffers[i].bytes = reader->memory + i * reader->max_request;
  for (i = 0; i < count; i++)
    put_idle (reader, &reader->buffers[i]);
  return 0;
}

static void
free_buffers (struct reader *reader)
{
  free (reader->memory);
  free (reader->buffers);
}

/* With an error in reader->error, or a sum. */
static void
read_and_hash (struct reader *reader, const struct options *options,
               uint64_t size, struct sum *sum)
{
  unsigned hashers = blkhash_opts_get_threads (options->hash);

  reader->leaves = blkhash_leaves_new (options->hash, size,
                                       BLKHASH_LEAVES_ONCE);
  if (!reader->leaves || alloc_buffers (reader, hashers) == -1)
    error_errno (&reader->error, errno, "cannot hash");
  else {
    progress_init (&reader->progress, options->progress_fd,
                   options->progress_bar, size);
    run_threads (reader, hashers);
    if (!error_is_set (&reader->error))
      source_fold (reader->leaves, size, reader->hole, sum, &reader->error);
    progress_end (&reader->progress, !error_is_set (&reader->error));
  }
  blkhash_leaves_free (reader->leaves);
}

/* After an error this aborts what is in flight: the buffers must still be
 * there.
 */
static void
close_conns (struct reader *reader)
{
  unsigned i;

  for (i = 0; i < reader->nr_conns; i++) {
    /* Say good-bye, but do not wait for the answer. */
    if (!error_is_set (&reader->error))
      nbd_aio_disconnect (reader->conns[i].nbd, 0);
    nbd_close (reader->conns[i].nbd);
  }
}

int
nbd_read_and_hash (const struct options *options,
                   struct nbd_handle **conns, unsigned nr_conns,
                   uint64_t size, struct sum *sum, struct error *error)
{
  struct reader reader = { .nr_conns = nr_conns };
  unsigned i;

  for (i = 0; i < nr_conns; i++)
    reader.conns[i] = (struct conn) {
      .reader = &reader,
      .nbd = conns[i],
      .fd = nbd_aio_get_fd (conns[i]),
    };
  reader.queue_tail = &reader.queue;
  pthread_mutex_init (&reader.cursor_lock, NULL);
  pthread_mutex_init (&reader.queue_lock, NULL);
  pthread_cond_init (&reader.has_idle, NULL);
  pthread_cond_init (&reader.has_queue, NULL);

  if (setup_requests (&reader, options, conns[0], size) == 0)
    read_and_hash (&reader, options, size, sum);
  close_conns (&reader);
  free_buffers (&reader);
  nbd_extents_destroy (&reader.extents);

  pthread_cond_destroy (&reader.has_queue);
  pthread_cond_destroy (&reader.has_idle);
  pthread_mutex_destroy (&reader.queue_lock);
  pthread_mutex_destroy (&reader.cursor_lock);
  if (error_is_set (&reader.error)) {
    *error = reader.error;
    return -1;
  }
  return 0;
}
