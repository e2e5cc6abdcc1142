/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The buffers that data is read into, and their memory.  Not thread-safe: the
 * caller holds a lock.
 */

#ifndef BLKSUM_BUFFERS_H
#define BLKSUM_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/dispatcher.h"

/* Used only by the thread that allocated or dequeued the buffer. */
struct buffer {
  struct buffer *next;          /* in a queue */
  struct dispatched_range place; /* in the image */
  unsigned char *bytes;         /* aligned for direct I/O */
  size_t len;                   /* of the memory, bytes */
  uint64_t start;               /* of the read, ns */
  uint64_t waited, busy;        /* ns since then: see depth.h */
  /* For NBD. */
  void *owner;
  size_t requested;             /* bytes of LEN that were requested, */
  size_t completed;             /* whose replies have completed, */
  size_t received;              /* and whose data has arrived */
};

struct buffers {
  unsigned char *bytes;
  size_t unit, units;           /* bytes of a unit, and number of units */
  unsigned char *used;          /* UNITS, 0 or 1 */
  struct buffer *all;           /* UNITS, by the unit each starts at */
  unsigned in_use;
};

/* Allocate MEMORY bytes for buffers of up to MAX_LEN bytes, for one buffer at
 * least.  Returns 0 or a positive errno.  BUFFERS is to be destroyed in any
 * case.
 */
int buffers_init (struct buffers *buffers, size_t memory, size_t max_len);
void buffers_destroy (struct buffers *buffers);

/* Returns a buffer of LEN bytes, or NULL if there is not enough free memory
 * now.
 */
struct buffer *buffers_get (struct buffers *buffers, size_t len);

/* Returns true if buffers_get would return a buffer. */
bool buffers_has (const struct buffers *buffers, size_t len);

/* Shrink BUFFER to LEN bytes, not more than it has. */
void buffers_shrink (struct buffers *buffers, struct buffer *buffer,
                     size_t len);

void buffers_free (struct buffers *buffers, struct buffer *buffer);

#endif /* BLKSUM_BUFFERS_H */
