/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read an NBD export: the sizes of requests and memory, and the threads.
 *
 * The thread that calls nbd_export_scan starts the others, and waits.  When all
 * data is read, or after an error, it shuts down connections whose server does
 * not reply.
 */

#include <config.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/common/clock.h"
#include "../lib/common/util.h"
#include "nbd/libnbd.h"
#include "nbd/nbd.h"
#include "read/scan.h"
#include "util/error.h"
#include "util/source-options.h"

/* Nanoseconds to wait for the next reply, when no more data is needed. */
#define REPLY_TIMEOUT (5 * NS_PER_SECOND)
#define CHECK_INTERVAL (NS_PER_SECOND / 2) /* between checks whether the job
                                            * stopped, or has all data */
#define MAX_REQUEST (32 * 1024 * 1024) /* bytes, which every server accepts */
#define MAX_SPARE (12 * 1024 * 1024) /* bytes: if QUEUE_SIZE requires more than
                                      * the documented limit, maximum of the
                                      * memory for data that waits to be hashed
                                      * or is hashed, in addition to that for
                                      * reads in flight */
#define START_READS 2           /* reads in flight on a connection, at first;
                                 * each thread that does not hash adds one */
#define MIN_DEPTH 64            /* the memory does not limit the maximum depth
                                 * to less than this, because short reads take
                                 * little memory */

/* ---- Threads ---- */

static void *
run_conn (void *opaque)
{
  nbd_conn_run (opaque);
  return NULL;
}

static void *
run_hasher (void *opaque)
{
  nbd_reader_hash (opaque);
  return NULL;
}

/* The threads for the connections from FIRST on could not be started: set ERR
 * as the error, and stop all threads.
 */
static void
fail_to_start (struct nbd_reader *reader, unsigned first, int err)
{
  struct error error = { "" };

  error_errno (&error, err, "cannot start a thread");
  nbd_reader_fail (reader, &error);

  SCOPED_LOCK (&reader->lock);
  for (; first < reader->nr_conns; first++) {
    reader->conns[first].ended = true;
    reader->reading--;
  }
}

/* Start COUNT threads, but at least one for each connection.  All connections
 * are counted before the first thread starts.  Returns how many threads were
 * started.
 */
static unsigned
start_threads (struct nbd_reader *reader, unsigned count, pthread_t *threads)
{
  unsigned i, conns = reader->nr_conns;
  int err = 0;

  reader->reading = conns;
  for (i = 0; i < conns || i < count; i++) {
    err = i < conns
      ? pthread_create (&threads[i], NULL, run_conn, &reader->conns[i])
      : pthread_create (&threads[i], NULL, run_hasher, reader);
    if (err)
      break;
  }
  if (i < conns)
    fail_to_start (reader, i, err);
  return i;
}

/* Wait until all connections have ended, or no reply arrived for REPLY_TIMEOUT.
 */
static void
wait_for_replies_locked (struct nbd_reader *reader)
{
  int r = 0;

  while (reader->reading > 0 && r == 0) {
    const uint64_t until = clock_ns () + REPLY_TIMEOUT;
    unsigned events = reader->events;

    /* The wait can end without an event. */
    while (r == 0 && reader->events == events)
      r = clock_cond_wait (&reader->changed, &reader->lock, until);
  }
}

/* Wait until all connections have ended, one has failed, the job has stopped,
 * or all data is hashed.  This thread checks the last two, because a connection
 * whose server does not reply would not notice them.
 */
static void
wait_locked (struct nbd_reader *reader)
{
  struct reader *base = &reader->base;

  while (reader->reading > 0 && !reader_is_stopped (base)) {
    clock_cond_wait (&reader->changed, &reader->lock,
                     clock_ns () + CHECK_INTERVAL);
    if (scan_has_failed (base->scan) ||
        reader_ranges_is_done (&base->ranges))
      reader_stop (base);
  }
}

/* Wait until all connections have ended.  When nothing more is needed,
 * connections whose server does not reply are shut down.
 */
static void
wait_for_conns (struct nbd_reader *reader)
{
  unsigned i;
  SCOPED_LOCK (&reader->lock);

  wait_locked (reader);
  wait_for_replies_locked (reader);
  for (i = 0; i < reader->nr_conns; i++)
    if (!reader->conns[i].ended)
      shutdown (reader->conns[i].fd, SHUT_RDWR);
}

static void
run_threads (struct nbd_reader *reader, unsigned count)
{
  pthread_t threads[SOURCE_MAX_THREADS];
  unsigned i, started = start_threads (reader, count, threads);

  wait_for_conns (reader);
  for (i = 0; i < started; i++)
    pthread_join (threads[i], NULL);
}

/* ---- Sizes ---- */

/* Set the sizes of reads and requests.  A read has whole blocks, and is sent as
 * several requests if it is longer than the server accepts.  The end of the
 * last request is rounded up to a multiple of the server's minimum size.
 * Returns 0 or -1.
 */
static int
setup_requests (struct nbd_reader *reader,
                const struct source_options *options, struct error *error)
{
  struct nbd_handle *nbd = reader->conns[0].nbd;
  int64_t min = nbd_get_block_size (nbd, LIBNBD_SIZE_MINIMUM);
  int64_t max = nbd_get_block_size (nbd, LIBNBD_SIZE_MAXIMUM);
  uint64_t align = reader->base.scan->block_size;
  uint64_t size = reader->base.ranges.cursor.size;

  if (min <= 0)
    min = 1;
  if (max <= 0 || max > MAX_REQUEST)
    max = MAX_REQUEST;
  if ((min & (min - 1)) != 0 || min > max)
    return error_set (error, "the server announces invalid sizes of requests: "
                      "%" PRId64 " to %" PRId64 " bytes", min, max);
  align = MAX (align, (uint64_t) min);
  if (options->extents && nbd_can_extents (nbd))
    reader->base.ranges.cursor.extent_at = nbd_extents_find;
  /* A query takes a round trip, and the server may look up gigabytes for it. */
  reader->base.ranges.cursor.skip_short_queries = true;
  cursor_start (&reader->base.ranges.cursor, align,
                MIN (options->read_size,
                     window_max_range (&reader->base.ranges.window,
                                       2 * reader->nr_conns)));
  reader->max_request = reader->base.ranges.cursor.max_read;
  if (reader->max_request > max)
    reader->max_request = max & ~(min - 1);
  reader->min_request = min;
  reader->end = MIN (ROUND_UP (size, (uint64_t) min), nbd_get_size (nbd));
  reader->extents.size = reader->end;
  reader->queue_depth = options->queue_depth;
  reader->queue_size = options->queue_size;
  reader->memory = reader_memory (reader->base.scan, options);
  return 0;
}

/* Returns how many reads in flight on a connection the options allow. */
static uint64_t
reads_by_options (const struct nbd_reader *reader)
{
  uint64_t reads = UINT32_MAX;

  if (reader->queue_size > 0)
    reads = MAX (reader->queue_size / reader->base.ranges.cursor.max_read, 1);
  if (reader->queue_depth > 0)
    reads = MIN (reads, reader->queue_depth);
  return reads;
}

/* Returns the documented limit of memory, or more if the options require it. */
static size_t
memory_for (const struct nbd_reader *reader, unsigned threads)
{
  size_t asked = reader->nr_conns * reader->queue_size +
    MIN (threads * reader->base.ranges.cursor.max_read, MAX_SPARE);

  return MAX (asked, reader->memory);
}

/* Start with some reads in flight on each connection, and one buffer to hash
 * for each thread.
 */
static struct reader_bounds
image_bounds (const struct nbd_reader *reader, unsigned threads)
{
  size_t max_len = reader->base.ranges.cursor.max_read;
  size_t memory = memory_for (reader, threads);
  uint64_t by_options = reads_by_options (reader);
  uint64_t most = reader->nr_conns * by_options + threads;
  uint64_t full = MIN (MAX (memory / max_len, 1), most);

  return (struct reader_bounds) {
    .memory = memory,
    .max_len = max_len,
    .hashing = threads,
    .start = MIN (full, reader->nr_conns * MIN (by_options, START_READS) +
                  threads),
    .depth = MIN (MAX (full, MIN_DEPTH), most),
  };
}

/* ---- Reading an export ---- */

static void
set_up (struct nbd_reader *reader, struct nbd_handle **conns,
        struct nbd_server *server, uint64_t size, struct scan *scan)
{
  const struct cursor cursor = {
    .size = size,
    .extent_opaque = &reader->extents,
    .missing_at = scan_missing_at,
    .missing_opaque = scan,
  };

  for (unsigned i = 0; i < reader->nr_conns; i++)
    reader->conns[i] = (struct nbd_conn) {
      .reader = reader,
      .nbd = conns[i],
      .fd = -1,
      .requester.nbd = conns[i],
    };
  nbd_extents_init (&reader->extents, server, size);
  pthread_mutex_init (&reader->lock, NULL);
  clock_cond_init (&reader->changed);
  reader_init (&reader->base, scan, &cursor, nbd_conn_next_range);
}

static void
tear_down (struct nbd_reader *reader)
{
  nbd_extents_destroy (&reader->extents);
  reader_destroy (&reader->base);
  pthread_cond_destroy (&reader->changed);
  pthread_mutex_destroy (&reader->lock);
}

/* When a connection is lost, libnbd closes its socket in the thread of the
 * connection, and another socket can then have the same number.  So the sockets
 * are shut down through duplicates.  A connection without a socket is lost
 * already, which its thread reports.
 */
static int
duplicate_sockets (struct nbd_reader *reader, struct error *error)
{
  for (unsigned i = 0; i < reader->nr_conns; i++) {
    struct nbd_conn *conn = &reader->conns[i];
    int fd = nbd_aio_get_fd (conn->nbd);

    if (fd != -1)
      conn->fd = fcntl (fd, F_DUPFD_CLOEXEC, 0);
    if (fd != -1 && conn->fd == -1)
      return error_errno (error, errno, "cannot read");
  }
  return 0;
}

/* True if the connection is not lost, and the server has replied to all its
 * requests.
 */
static bool
can_go_on (const struct nbd_conn *conn)
{
  return conn->in_flight + conn->requester.in_flight == 0 &&
    nbd_aio_is_ready (conn->nbd) == 1;
}

/* If the scan has failed, close all connections; otherwise only those that were
 * lost or shut down.  This aborts the requests in flight, so the buffers must
 * still exist.  Returns the number of connections that are left in CONNS.
 */
static unsigned
close_conns (struct nbd_reader *reader, struct nbd_handle **conns, bool failed)
{
  unsigned n = 0;

  for (unsigned i = 0; i < reader->nr_conns; i++) {
    struct nbd_conn *conn = &reader->conns[i];

    if (conn->fd != -1)
      close (conn->fd);
    if (!failed && can_go_on (conn))
      conns[n++] = conn->nbd;
    else
      nbd_handle_close (conn->nbd);
  }
  return n;
}

static int
read_export (struct nbd_reader *reader, unsigned threads,
             struct error *error)
{
  struct reader_bounds bounds = image_bounds (reader, threads);
  int err = reader_set_bounds (&reader->base, &bounds);

  if (err)
    error_errno (error, err, "cannot read");
  else
    run_threads (reader, threads);
  return err ? -1 : 0;
}

int
nbd_export_scan (const struct source_options *options,
                 struct nbd_handle **conns, unsigned *nr_conns,
                 struct nbd_server *server, uint64_t size, struct scan *scan)
{
  struct nbd_reader reader = { .nr_conns = *nr_conns };
  struct error error = { "" };
  bool failed;

  assert (*nr_conns <= NBD_MAX_CONNS);
  if (*nr_conns == 0) {
    error_set (&error, "lost the connection");
    scan_fail (scan, &error);
    return -1;
  }
  set_up (&reader, conns, server, size, scan);
  if (duplicate_sockets (&reader, &error) == -1 ||
      setup_requests (&reader, options, &error) == -1 ||
      read_export (&reader, options->threads, &error) == -1)
    scan_fail (scan, &error);
  failed = scan_has_failed (scan);
  *nr_conns = close_conns (&reader, conns, failed);
  tear_down (&reader);
  return failed ? -1 : 0;
}
