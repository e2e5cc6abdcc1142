/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The block status of an NBD export, as extents for the cursor (see
 * read/cursor.h).
 */

#ifndef BLKSUM_NBD_EXTENTS_H
#define BLKSUM_NBD_EXTENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct extent;
struct nbd_handle;

/* The maximum number of requests ahead of the range that is read.  If each is
 * for 2 GiB, and the latency is 30 ms, the status of 1 TiB takes two seconds.
 */
#define NBD_AHEAD 8

/* The server of a URI.  An error reply to a query is not an error of the scan:
 * the range is read as data.  Used by one thread at a time.
 */
struct nbd_server {
  const char *name;             /* of the operand, for WARN */
  void (*warn) (const char *name, const struct error *error); /* called for the
                                 * first failed query; NULL: an error reply is
                                 * an error of the scan */
  bool warned;
  unsigned failures;            /* failed queries since the last success */
};

/* A connection that sends requests.  Only the thread of the connection uses
 * this struct.
 */
struct nbd_requester {
  struct nbd_handle *nbd;
  unsigned in_flight;           /* requests for extents that were sent ahead */
};

/* A reply: the extents from START on. */
struct nbd_reply {
  uint64_t start;
  struct extent *extents;
  size_t count;
};

/* A request that was sent ahead, or its reply. */
struct nbd_ahead {
  struct nbd_extents *all;

  /* Set when the request is sent. */
  struct nbd_requester *requester;
  uint64_t start, end;          /* of its range, bytes */

  struct nbd_reply reply;       /* written by the requester's thread while the
                                 * request is in flight */
  enum {
    NBD_AHEAD_NONE,
    NBD_AHEAD_SENT,
    NBD_AHEAD_UNWANTED,         /* sent, but the reply is not needed */
    NBD_AHEAD_REPLIED,
  } state;                      /* protected by all->lock */
};

struct nbd_extents {
  uint64_t size;                /* no request ends beyond this offset, bytes */
  struct nbd_server *server;    /* NULL: our own qemu-nbd */

  /* Used by the thread whose turn it is: see range-queue.h. */
  struct nbd_requester *requester; /* the connection of that thread */
  unsigned room;                /* number of requests that this connection may
                                 * still send ahead */
  struct nbd_reply reply;       /* the current reply */
  size_t next;                  /* the first extent of REPLY that was not used
                                 * yet */
  uint64_t offset;              /* start of that extent, bytes */
  uint64_t requested;           /* end of the last requested range, bytes */

  pthread_mutex_t lock;         /* protects the states of AHEAD */
  struct nbd_ahead ahead[NBD_AHEAD];
};

/* SIZE is at most the size of the export.  SERVER is NULL if the server is our
 * own qemu-nbd.
 */
void nbd_extents_init (struct nbd_extents *extents, struct nbd_server *server,
                       uint64_t size);

/* No request may be in flight. */
void nbd_extents_destroy (struct nbd_extents *extents);

/* Does the server support block status? */
bool nbd_can_extents (struct nbd_handle *nbd);

/* An extent_function of the cursor; OPAQUE is a struct nbd_extents. */
int nbd_extent_at (void *opaque, uint64_t offset, struct extent *extent,
                   struct error *error);

#endif /* BLKSUM_NBD_EXTENTS_H */
