/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The connections of one NBD export while it is read, and the thread of each.
 */

#ifndef BLKSUM_NBD_CONN_H
#define BLKSUM_NBD_CONN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nbd/extents.h"
#include "read/cursor.h"
#include "read/scheduler.h"

#define NBD_MAX_CONNS 16

struct error;
struct nbd_handle;
struct scan;

/* While the thread of the connection runs, only that thread uses this struct.
 * The exceptions are FD, which does not change; ENDED; and next.item, which the
 * range queue protects.
 */
struct conn {
  struct nbd_reader *reader;
  struct nbd_handle *nbd;
  int fd;                       /* duplicate of the socket of NBD, or -1;
                                 * shutting it down wakes the thread */
  bool ended;                   /* the thread sends no more requests, and waits
                                 * for no replies; protected by reader->lock */
  struct taken_range next;      /* the next range to read, before it has a
                                 * buffer; none if its length is 0 */
  struct buffer *filling;       /* the buffer of which a part is not requested
                                 * yet; or NULL */
  unsigned reads;               /* buffers into which data is read */
  unsigned in_flight;           /* read requests in flight */
  size_t in_flight_bytes;       /* bytes of these requests */
  struct nbd_requester requester; /* block status requests sent ahead */
  bool lost;                    /* the connection was lost */
};

struct nbd_reader {
  /* Set once. */
  struct conn conns[NBD_MAX_CONNS];
  unsigned nr_conns;
  size_t min_request, max_request; /* bytes */
  uint64_t end;                 /* no request ends beyond this offset, bytes */
  size_t queue_size;            /* limit of the bytes in flight of each
                                 * connection; 0: no limit */
  unsigned queue_depth;         /* limit of the requests in flight of each
                                 * connection; 0: no limit */
  size_t memory;                /* size of all buffers, bytes, unless
                                 * QUEUE_SIZE requires more */

  struct scheduler scheduler;
  struct cursor cursor;         /* used by the thread whose turn it is: see
                                 * range-queue.h */
  struct nbd_extents extents;   /* used by the same thread */

  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t changed;       /* a field below changed, or the scheduler was
                                 * stopped */
  unsigned reading;             /* connections that have not ended */
  unsigned events;              /* grows when a connection ends, and when one
                                 * that waits for its last replies receives
                                 * something */
};

/* A next_range_function; OPAQUE is the connection to query for extents. */
int conn_next_range (void *opaque, struct range *range, struct error *error);

/* Stop all threads, with ERROR unless they were stopped before. */
void nbd_reader_fail (struct nbd_reader *reader, const struct error *error);

/* The thread of CONN calls this function, which returns when all data that is
 * needed is read and hashed, or the scheduler was stopped.
 */
void conn_run (struct conn *conn);

/* Hash what the connections read, until all is hashed.  Called by threads
 * without a connection, and by those whose connection has ended.
 */
void nbd_reader_hash (struct nbd_reader *reader);

#endif /* BLKSUM_NBD_CONN_H */
