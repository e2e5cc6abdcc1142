/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The memory that reads go to, and the queue from what was read to who hashes
 * it.
 *
 * It knows nothing of reading or hashing.  Every call is thread-safe.
 */

#ifndef BLKSUM_QUEUE_H
#define BLKSUM_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/walk.h"

/* Of the thread that got or took it. */
struct buffer {
  struct buffer *next;          /* in the queue */
  void *owner;
  struct walk_range place;      /* in the image */
  size_t len;                   /* of it, or a little more */
  /* For NBD. */
  size_t asked;                 /* bytes of LEN that requests were sent for, */
  size_t answered;              /* that were replied to, */
  size_t seen;                  /* and that have arrived */
  unsigned char *bytes;
};

struct queue {
  /* Set once. */
  unsigned char *memory;
  size_t unit, units;           /* bytes, and how many */
  struct buffer *buffers;       /* UNITS, by the unit each starts at */

  pthread_mutex_t lock;         /* protects what follows */
  pthread_cond_t has_memory, has_buffer; /* or it stopped */
  unsigned char *used;          /* UNITS, 0 or 1 */
  struct buffer *first, **last; /* what was read */
  size_t count;
  unsigned waiting;             /* threads in queue_wait_buffer */
  bool ended, stopped;
};

/* MEMORY bytes for buffers of up to MAX_LEN bytes, one at least.  0 or a
 * positive errno; destroy it in any case.
 */
int queue_init (struct queue *queue, size_t memory, size_t max_len);
void queue_destroy (struct queue *queue);

/* A buffer of LEN bytes, or NULL if there is no memory for it now. */
struct buffer *queue_get (struct queue *queue, size_t len);

/* Wait until there is memory for LEN bytes, or the queue was stopped. */
void queue_wait_memory (struct queue *queue, size_t len);

/* Give its memory back. */
void queue_free (struct queue *queue, struct buffer *buffer);

/* Into the queue. */
void queue_put (struct queue *queue, struct buffer *buffer);

/* The oldest in the queue, unless a waiting thread is about to take it; NULL
 * if there is none.
 */
struct buffer *queue_take (struct queue *queue);

/* The oldest in the queue; NULL when no more will come. */
struct buffer *queue_wait_buffer (struct queue *queue);

/* No more will be put in. */
void queue_end (struct queue *queue);

/* Nobody waits any more, or is given anything. */
void queue_stop (struct queue *queue);
bool queue_is_stopped (struct queue *queue);

#endif /* BLKSUM_QUEUE_H */
