/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A repair source that is an NBD export.
 *
 * There is one connection.  It is made when the first block is needed, and made
 * again after it was lost.  One thread at a time uses it.  The other threads
 * wait for it, without holding any lock that a read of a good block needs.
 *
 * If a server does not send a block within the timeout, it is suspended: no
 * request reads from it for SUSPENDED seconds, and the threads that wait for
 * the connection give up immediately.  So a server that hangs costs one timeout
 * in that time, however many blocks are bad.  A server that fails is not
 * suspended, because a failure costs no time.  For each client request, the
 * times that it waits for this server are added up, over all its blocks.  When
 * their sum reaches the timeout, the client request reads no more from this
 * server; other client requests still do.  Time that is spent in the plugin, or
 * waiting for another thread to release the connection, does not count.
 *
 * A connection that was not used for IDLE seconds is replaced by a new one,
 * because a router may have dropped it without notice.
 *
 * If a client disconnects while its request waits for the server, the
 * connection to the server is closed: otherwise libnbd could still store the
 * reply in the buffer of the request after the buffer was freed.  The next
 * request connects again.
 *
 * libnbd has no timeouts, and nbdkit does not tell a filter when it is ending.
 * So the thread polls the connection in slices.  Between the slices it asks
 * nbdkit, with a sleep of length zero, whether nbdkit or the client is ending.
 * Only name resolution in libnbd cannot be interrupted.
 *
 * The URI comes from the administrator, so it may name a Unix socket, or files
 * for TLS.  It may not run a program: newer versions of libnbd run ssh for some
 * URIs, and TRANSPORTS excludes that.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define NBDKIT_API_VERSION 2
#include <nbdkit-filter.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/deadline.h"
#include "../lib/common/libnbd.h"
#include "verify/params.h"
#include "verify/repair-nbd.h"
#include "verify/source.h"

#define SUSPENDED 60            /* seconds */
#define IDLE 60                 /* seconds */
#define SLICE 100               /* milliseconds */
#define MAX_MIN 65536           /* bytes; NBD's largest minimum block size */

#define TRANSPORTS \
  (LIBNBD_ALLOW_TRANSPORT_TCP | LIBNBD_ALLOW_TRANSPORT_UNIX | \
   LIBNBD_ALLOW_TRANSPORT_VSOCK)

struct repair_nbd {
  const char *uri;

  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t freed;         /* signalled when BUSY becomes false */
  bool busy;                    /* a thread uses the connection */
  struct timespec resume;       /* end of the suspension; if this time has
                                 * passed, there is none */

  /* Used by the thread that has set BUSY. */
  struct nbd_handle *handle;    /* NULL: not connected */
  struct source source;         /* size and constraints of the export */
  struct timespec idle_end;     /* a later read makes a new connection */
  bool has_failed;              /* a request failed since the last END_DONE, so
                                 * END_LOST and END_FAILED are not logged */
};

/* How a request to the server ended. */
enum end {
  END_DONE,                     /* the server did not fail: the block was read,
                                 * or ENDS is set, or there was no memory */
  END_FAILED,                   /* with a reply that is an error, or libnbd
                                 * refused to send the request */
  END_LOST,                     /* could not connect, or the connection broke */
  END_TIMEOUT,
  END_STOPPED,                  /* nbdkit or the client is ending */
};

struct request {
  struct repair_nbd *nbd;
  struct timespec deadline;
  enum end end;
  bool ends;                    /* the export ends before the end of the
                                 * block */
  char reason[500];             /* for END_LOST and END_FAILED */
};

struct repair_nbd *
repair_nbd_new (const char *uri)
{
  struct repair_nbd *nbd = calloc (1, sizeof *nbd);

  if (!nbd) {
    nbdkit_error ("blkhash-verify: %m");
    return NULL;
  }
  nbd->uri = uri;
  pthread_mutex_init (&nbd->lock, NULL);
  deadline_cond_init (&nbd->freed);
  return nbd;
}

/* Does not wait for the server.  Afterwards libnbd no longer writes to the
 * buffer of a request.
 */
static void
disconnect (struct repair_nbd *nbd)
{
  if (nbd->handle) {
    nbd_aio_disconnect (nbd->handle, 0);
    nbd_close (nbd->handle);
  }
  nbd->handle = NULL;
}

void
repair_nbd_free (struct repair_nbd *nbd)
{
  if (!nbd)
    return;
  disconnect (nbd);
  pthread_cond_destroy (&nbd->freed);
  pthread_mutex_destroy (&nbd->lock);
  free (nbd);
}

/* ---- Requests ---- */

static void
set_reason (struct request *request)
{
  snprintf (request->reason, sizeof request->reason, "%s", nbd_error_text ());
}

/* End REQUEST without a reply, and close the connection.  Returns -1. */
static int
end_request (struct request *request, enum end end)
{
  request->end = end;
  if (end == END_LOST)
    set_reason (request);
  disconnect (request->nbd);
  return -1;
}

/* End REQUEST after libnbd returned an error for a read: the connection broke,
 * the server replied with an error, or libnbd refused to send the request.
 * The connection is closed if it is broken, or if libnbd could still write to
 * the buffer of the request.  Returns -1.
 */
static int
fail_request (struct request *request)
{
  set_reason (request);         /* before nbd_aio_is_ready clears the error */
  request->end = END_FAILED;
  if (nbd_aio_in_flight (request->nbd->handle) != 0 ||
      nbd_aio_is_ready (request->nbd->handle) != 1) {
    request->end = END_LOST;
    disconnect (request->nbd);
  }
  return -1;
}

/* Returns 0, or -1 if REQUEST has ended. */
static int
check_time (struct request *request)
{
  if (deadline_has_passed (&request->deadline))
    return end_request (request, END_TIMEOUT);
  if (nbdkit_nanosleep (0, 0) == -1)
    return end_request (request, END_STOPPED);
  return 0;
}

/* Wait for the server, for one slice at most.  Returns 0, or -1 if REQUEST has
 * ended.
 */
static int
wait_for_server (struct request *request)
{
  if (check_time (request) == -1)
    return -1;
  return nbd_poll (request->nbd->handle, SLICE) == -1
    ? end_request (request, END_LOST) : 0;
}

static int
set_size (struct request *request)
{
  struct repair_nbd *nbd = request->nbd;
  int64_t size = nbd_get_size (nbd->handle);
  int64_t min = nbd_get_block_size (nbd->handle, LIBNBD_SIZE_MINIMUM);
  int64_t max = nbd_get_block_size (nbd->handle, LIBNBD_SIZE_MAXIMUM);

  if (size == -1 || min == -1 || max == -1)
    return end_request (request, END_LOST);
  if (min > MAX_MIN || (min & (min - 1)) != 0)
    min = 1;                    /* the server sent an invalid value */
  source_set (&nbd->source, size, min, max);
  return 0;
}

static int
connect_server (struct request *request)
{
  struct repair_nbd *nbd = request->nbd;

  if (check_time (request) == -1)
    return -1;
  if (libnbd_load (request->reason, sizeof request->reason) == -1) {
    request->end = END_LOST;
    return -1;
  }
  nbd->handle = nbd_create ();
  if (!nbd->handle ||
      nbd_set_uri_allow_transports (nbd->handle, TRANSPORTS) == -1 ||
      nbd_set_uri_allow_local_file (nbd->handle, true) == -1 ||
      nbd_aio_connect_uri (nbd->handle, nbd->uri) == -1)
    return end_request (request, END_LOST);
  while (nbd_aio_is_connecting (nbd->handle) == 1)
    if (wait_for_server (request) == -1)
      return -1;
  if (nbd_aio_is_ready (nbd->handle) != 1)
    return end_request (request, END_LOST);
  return set_size (request);
}

/* A source_pread. */
static int
pread_nbd (void *opaque, void *buf, uint32_t len, uint64_t offset, int *err)
{
  struct request *request = opaque;
  struct nbd_handle *handle = request->nbd->handle;
  int64_t cookie = nbd_aio_pread (handle, buf, len, offset,
                                  NBD_NULL_COMPLETION, 0);
  int r;

  *err = EIO;
  if (cookie == -1)
    return fail_request (request);
  while ((r = nbd_aio_command_completed (handle, cookie)) == 0)
    if (wait_for_server (request) == -1)
      return -1;
  return r == 1 ? 0 : fail_request (request);
}

static bool
read_once (struct request *request, void *buf, size_t len, uint64_t offset)
{
  struct repair_nbd *nbd = request->nbd;
  int err;

  request->end = END_DONE;
  if (!nbd->handle && connect_server (request) == -1)
    return false;
  request->ends = len > nbd->source.size ||
    offset > nbd->source.size - len;
  return !request->ends &&
    source_read_by (&nbd->source, pread_nbd, request, buf, len, offset,
                    &err) == 0;
}

/* The server may have closed a connection that an earlier read has made.  So if
 * such a connection turns out to be lost, connect and read once more.
 */
static bool
read_block (struct request *request, void *buf, size_t len, uint64_t offset)
{
  bool is_old, r;

  if (deadline_has_passed (&request->nbd->idle_end))
    disconnect (request->nbd);
  is_old = request->nbd->handle;
  r = read_once (request, buf, len, offset);
  if (!r && request->end == END_LOST && is_old)
    r = read_once (request, buf, len, offset);
  return r;
}

static void
log_end (const struct request *request)
{
  struct repair_nbd *nbd = request->nbd;

  if (request->end == END_TIMEOUT)
    nbdkit_error ("blkhash-verify-repair-uri: %s: no reply in %u seconds, "
                  "suspended for %d seconds", nbd->uri,
                  verify_params.repair_timeout, SUSPENDED);
  if ((request->end == END_LOST || request->end == END_FAILED) &&
      !nbd->has_failed)
    nbdkit_error ("blkhash-verify-repair-uri: %s: %s", nbd->uri,
                  request->reason);
  if (request->end == END_DONE)
    nbd->has_failed = false;
  else if (request->end != END_STOPPED)
    nbd->has_failed = true;
}

/* ---- Threads ---- */

/* Wait until no other thread uses the connection, and set BUSY.  Returns false
 * if the server is suspended, if the wait takes longer than the timeout, or if
 * nbdkit or the client is ending.
 */
static bool
claim (struct request *request)
{
  struct repair_nbd *nbd = request->nbd;
  struct timespec deadline =
    deadline_in (verify_params.repair_timeout * DEADLINE_SECOND);
  SCOPED_LOCK (&nbd->lock);

  while (nbd->busy && deadline_has_passed (&nbd->resume)) {
    struct timespec slice = deadline_in (SLICE * (DEADLINE_SECOND / 1000));

    if (deadline_has_passed (&deadline))
      return false;
    deadline_wait (&nbd->freed, &nbd->lock, &slice);
    if (nbdkit_nanosleep (0, 0) == -1) {
      request->end = END_STOPPED;
      return false;
    }
  }
  if (!deadline_has_passed (&nbd->resume))
    return false;
  return nbd->busy = true;
}

static uint64_t
nanoseconds_since (const struct timespec *start)
{
  struct timespec now = deadline_in (0);

  return (now.tv_sec - start->tv_sec) * DEADLINE_SECOND +
    (now.tv_nsec - start->tv_nsec);
}

static void
release (struct repair_nbd *nbd, enum end end)
{
  SCOPED_LOCK (&nbd->lock);

  nbd->busy = false;
  if (end == END_TIMEOUT)
    nbd->resume = deadline_in (SUSPENDED * DEADLINE_SECOND);
  pthread_cond_broadcast (&nbd->freed);
}

bool
repair_nbd_read (struct repair_nbd *nbd, void *buf, size_t len,
                 uint64_t offset, uint64_t *waited, bool *stopped, bool *ends)
{
  const uint64_t timeout = verify_params.repair_timeout * DEADLINE_SECOND;
  struct request request = { .nbd = nbd };
  struct timespec start;
  bool r = false;

  if (*waited >= timeout)
    return false;
  if (claim (&request)) {
    start = deadline_in (0);
    request.deadline = deadline_in (timeout);
    r = read_block (&request, buf, len, offset);
    *waited += nanoseconds_since (&start);
    nbd->idle_end = deadline_in (IDLE * DEADLINE_SECOND);
    log_end (&request);
    release (nbd, request.end);
  }
  *stopped |= request.end == END_STOPPED;
  *ends = request.ends;
  return r;
}
