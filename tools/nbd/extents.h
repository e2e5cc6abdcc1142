/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What an NBD server tells of the sparseness of an export, a few extents at a
 * time, in the form that the cursor takes.
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

/* Requests ahead of the extents that are used: with 2 GiB each, and 30 ms, 1
 * TiB is told of in two seconds.
 */
#define NBD_AHEAD 8

/* A connection to ask.  Of its thread alone. */
struct nbd_asker {
  struct nbd_handle *nbd;
  unsigned in_flight;           /* requests for extents that were sent ahead */
};

/* What the server said of the bytes from START on. */
struct nbd_told {
  uint64_t start;
  struct extent *extents;
  size_t count;
};

/* A request that was sent ahead, or its answer. */
struct nbd_ahead {
  struct nbd_extents *all;

  /* Set when it is sent. */
  struct nbd_asker *asker;
  uint64_t start, end;          /* bytes that it is about */

  struct nbd_told told;         /* up to the answer of the asker's thread */
  enum {
    NBD_AHEAD_NONE,
    NBD_AHEAD_SENT,
    NBD_AHEAD_IN_VAIN,          /* sent, and nobody needs the answer */
    NBD_AHEAD_ANSWERED,
  } state;                      /* by all->lock */
};

struct nbd_extents {
  uint64_t size;                /* of the export, bytes */

  /* For whose turn it is. */
  struct nbd_asker *asker;      /* can be changed */
  unsigned room;                /* requests that it may send ahead */
  struct nbd_told told;         /* what is being used */
  size_t next;                  /* the first extent of it that was not used */
  uint64_t offset;              /* where that starts, bytes */
  uint64_t asked;               /* what is before it was asked for, bytes */

  pthread_mutex_t lock;
  struct nbd_ahead ahead[NBD_AHEAD];
};

void nbd_extents_init (struct nbd_extents *extents, uint64_t size);

/* When nothing is in flight any more. */
void nbd_extents_destroy (struct nbd_extents *extents);

/* Does the server tell extents at all? */
bool nbd_can_extents (struct nbd_handle *nbd);

/* An extent_function of the cursor; OPAQUE is a struct nbd_extents. */
int nbd_extent_at (void *opaque, uint64_t offset, struct extent *extent,
                   struct error *error);

#endif /* BLKSUM_NBD_EXTENTS_H */
