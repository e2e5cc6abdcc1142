/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The buffers of reads, an allocator for their memory, and a queue of buffers.
 * Not thread-safe: the caller holds a lock.
 */

#ifndef BLKSUM_BUFFERS_H
#define BLKSUM_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/range-queue.h"

#define BUFFER_MAX_RANGES 16

/* Only the thread that allocated or dequeued the buffer uses its members,
 * unless stated otherwise.
 */
struct buffer {
  struct buffer *next;          /* next one in the queue; protected by the lock
                                 * for the queue */
  unsigned nr_ranges;           /* more than one if one read returns them all */
  struct taken_range ranges[BUFFER_MAX_RANGES]; /* their data is in BYTES, in
                                 * this order; the lock of the range queue
                                 * protects each ITEM */
  unsigned char *bytes;         /* aligned for direct I/O */
  size_t len;                   /* size of the buffer, bytes */
  uint64_t start;               /* start time of the read, ns */
  uint64_t waited, busy;        /* ns: see struct depth_read */

  /* Only for NBD. */
  void *owner;                  /* the connection */
  size_t requested;             /* number of bytes that were requested */
  size_t completed;             /* number of bytes whose replies completed */
  size_t received;              /* number of bytes of data that arrived */
};

/* The memory of all buffers.  It is allocated in units of a fixed size. */
struct buffers {
  unsigned char *bytes;
  size_t unit, units;           /* bytes of a unit, and number of units */
  unsigned char *used;          /* array of UNITS elements: is the unit used? */
  struct buffer *all;           /* array of UNITS elements: the buffer that
                                 * starts at the unit */
  unsigned in_use;              /* number of buffers in use */
};

/* Returns the number of bytes of all ranges of BUFFER. */
uint64_t buffer_data_len (const struct buffer *buffer);

/* Call scan_add_data for each range.  Returns 0, or the first error. */
int buffer_add_data (const struct buffer *buffer, struct scan *scan);

/* Allocate MEMORY bytes, but at least MAX_LEN, for buffers of up to MAX_LEN
 * bytes.  Returns 0 or a positive errno; buffers_destroy must be called in both
 * cases.
 */
int buffers_init (struct buffers *buffers, size_t memory, size_t max_len);
void buffers_destroy (struct buffers *buffers);

/* Returns a buffer of LEN bytes, or NULL if there is not enough contiguous free
 * memory.
 */
struct buffer *buffers_get (struct buffers *buffers, size_t len);

/* Returns true if buffers_get would return a buffer. */
bool buffers_has (const struct buffers *buffers, size_t len);

/* Shrink BUFFER to LEN bytes. */
void buffers_shrink (struct buffers *buffers, struct buffer *buffer,
                     size_t len);

void buffers_free (struct buffers *buffers, struct buffer *buffer);

/* First in, first out. */
struct buffer_queue {
  struct buffer *first, **last; /* LAST points to NEXT of the last buffer, or to
                                 * FIRST if the queue is empty */
  unsigned count;
};

void buffer_queue_init (struct buffer_queue *queue);

void buffer_queue_push (struct buffer_queue *queue, struct buffer *buffer);

/* The queue must not be empty. */
struct buffer *buffer_queue_pop (struct buffer_queue *queue);

#endif /* BLKSUM_BUFFERS_H */
