/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * NBD exports: handles of libnbd, dirty bitmaps, block status, and a reader.
 *
 * Each connection of the reader has a thread, which reads and hashes; further
 * threads only hash.
 */

#ifndef BLKSUM_NBD_H
#define BLKSUM_NBD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/reader-ranges.h"
#include "read/reader.h"

struct error;
struct extent;
struct nbd_handle;
struct ranges;
struct scan;
struct source_options;

/* ---- Handles ---- */

/* Create a handle.  If EXTENTS is set, it negotiates block status when it
 * connects.  This loads libnbd: call no function of libnbd before.  Returns
 * NULL with the reason in ERROR on failure.
 */
struct nbd_handle *nbd_handle_create (bool extents, struct error *error);

/* Returns the size of the export in bytes, or -1 with the reason in ERROR. */
int64_t nbd_handle_size (struct nbd_handle *nbd, struct error *error);

/* Disconnect from the server, if it is connected, and close the handle; NULL is
 * allowed.  Requests in flight are aborted.
 */
void nbd_handle_close (struct nbd_handle *nbd);

/* ---- Dirty bitmaps of qemu ---- */

/* The functions are called by one thread at a time, before the image is read.
 */

/* Connect NBD, a new handle without meta contexts, to URI.  Negotiate the meta
 * context of the bitmap NAME and, if EXTENTS is set, "base:allocation".  If
 * there is no such bitmap, the error lists those that the server offers.
 * Returns 0 or -1.
 */
int nbd_bitmap_connect (struct nbd_handle *nbd, const char *uri,
                        const char *name, bool extents, struct error *error);

/* Read the bitmap NAME over NBD, after nbd_bitmap_connect for the same bitmap.
 * The image is the first SIZE bytes of the export.  RANGES, which must be
 * empty, receives the dirty ranges, sorted.  Returns 0; or -1 with the reason,
 * and then RANGES is empty.
 */
int nbd_bitmap_read (struct nbd_handle *nbd, const char *name, uint64_t size,
                     struct ranges *ranges, struct error *error);

/* ---- Block status, as extents ---- */

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

/* An extent in a reply.  A server can return a million. */
struct nbd_status {
  uint64_t len;                 /* bytes */
  bool zero;
};

/* A reply: the extents from START on. */
struct nbd_reply {
  uint64_t start;
  struct nbd_status *extents;
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

  /* Used by the thread whose turn it is: see reader-ranges.h. */
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
int nbd_extents_find (void *opaque, uint64_t offset, struct extent *extent,
                      struct error *error);

/* ---- The reader ---- */

#define NBD_MAX_CONNS 16

/* A connection.  While its thread runs, only that thread uses this struct.  The
 * exceptions are FD, which does not change; ENDED; and next.item, which the
 * ranges of the reader protect.
 */
struct nbd_conn {
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
  struct nbd_conn conns[NBD_MAX_CONNS];
  unsigned nr_conns;
  size_t min_request, max_request; /* bytes */
  uint64_t end;                 /* no request ends beyond this offset, bytes */
  size_t queue_size;            /* limit of the bytes in flight of each
                                 * connection; 0: no limit */
  unsigned queue_depth;         /* limit of the requests in flight of each
                                 * connection; 0: no limit */
  size_t memory;                /* size of all buffers, bytes, unless
                                 * QUEUE_SIZE requires more */

  struct reader base;           /* what all readers share */
  struct nbd_extents extents;   /* used by the thread whose turn it is: see
                                 * reader-ranges.h */

  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t changed;       /* a field below changed, or the reader was
                                 * stopped */
  unsigned reading;             /* connections that have not ended */
  unsigned events;              /* grows when a connection ends, and when one
                                 * that waits for its last replies receives
                                 * something */
};

/* A next_range_function; OPAQUE is the connection to query for extents. */
enum next_range nbd_conn_next_range (void *opaque, struct range *range,
                                     struct error *error);

/* Stop all threads, with ERROR unless they were stopped before. */
void nbd_reader_fail (struct nbd_reader *reader, const struct error *error);

/* The thread of CONN calls this function, which returns when all data that is
 * needed is read and hashed, or the reader was stopped.
 */
void nbd_conn_run (struct nbd_conn *conn);

/* Hash what the connections read, until all is hashed.  Called by threads
 * without a connection, and by those whose connection has ended.
 */
void nbd_reader_hash (struct nbd_reader *reader);

/* Read the missing ranges of SCAN over CONNS, an array of *NR_CONNS (up to 16)
 * open connections to one export.  The image is the first SIZE bytes of the
 * export.  SERVER is NULL if the server is our own qemu-nbd; otherwise the
 * latency may be high, so block status is requested ahead of the reads.
 * Returns 0, or -1 on error or cancellation; the reason of an error is in SCAN.
 *
 * After -1 all connections are closed.  After 0 those that were lost, or have
 * unanswered requests, are closed; the others are moved to the start of CONNS,
 * and *NR_CONNS is set to their number.
 */
int nbd_export_scan (const struct source_options *options,
                     struct nbd_handle **conns, unsigned *nr_conns,
                     struct nbd_server *server, uint64_t size,
                     struct scan *scan);

#endif /* BLKSUM_NBD_H */
