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
struct fill;
struct nbd_handle;

/* All but READER, NBD, FD and ENDED is of its thread alone. */
struct conn {
  struct nbd_reader *reader;
  struct nbd_handle *nbd;
  int fd;                       /* of the socket, to wake its thread */
  bool ended;                   /* nothing more is asked; by reader->lock */
  struct walk_range next;       /* to read; none if its length is 0 */
  struct buffer *filling;       /* where it goes, once there is memory */
  unsigned reads;               /* in flight: buffers, */
  unsigned in_flight;           /* requests, */
  size_t in_flight_bytes;       /* and their bytes */
  bool lost;                    /* the connection is gone */
};

struct nbd_reader {
  /* Set once. */
  struct conn conns[NBD_MAX_CONNS];
  unsigned nr_conns;
  size_t min_request, max_request; /* bytes */
  uint64_t end;                 /* nothing behind it is asked for */
  size_t queue_size;            /* bytes on a connection, */
  unsigned queue_depth;         /* and requests, at most; 0: no such bound */

  struct scheduler scheduler;
  struct cursor cursor;         /* for whose turn it is */
  struct nbd_extents extents;   /* the same */

  pthread_mutex_t lock;         /* protects what follows */
  pthread_cond_t changed;       /* what follows, or an answer came */
  unsigned reading;             /* connections that did not end yet */
  unsigned events;              /* counts answers, and connections that ended */
  bool failed;
};

/* A take_function; OPAQUE is the connection to ask for extents. */
int conn_take (void *opaque, struct range *range, struct error *error);

/* Stop all, with this error unless there was one before. */
void nbd_reader_fail (struct nbd_reader *reader, const struct error *error);

/* Until everything is read and hashed: with the reads of CONN, */
void conn_run (struct conn *conn);

/* and with what comes from the others. */
void nbd_reader_hash (struct nbd_reader *reader);

#endif /* BLKSUM_NBD_CONN_H */
