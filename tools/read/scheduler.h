/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the threads that read an image and fill a leaf table do next: read, or
 * hash what was read.
 *
 * It bounds the memory, the reads and the threads that hash, and knows nothing
 * of how something is read.  Every call is thread-safe.
 */

#ifndef BLKSUM_SCHEDULER_H
#define BLKSUM_SCHEDULER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/buffers.h"
#include "read/depth.h"
#include "read/walk.h"

struct error;
struct fill;

struct scheduler_bounds {
  size_t memory;                /* bytes of all buffers */
  size_t max_len;               /* bytes of one */
  unsigned hashing;             /* threads at once */
  unsigned reading;             /* the same; 0: workers only hash */
  unsigned start, depth;        /* buffers in use, at first and at most */
  bool read_first;              /* the writer of a pipe waits while nothing is
                                 * read */
};

struct scheduler {
  /* Set once. */
  struct fill *fill;
  struct scheduler_bounds bounds;

  struct walk walk;

  pthread_mutex_t lock;         /* protects what follows */
  pthread_cond_t changed;       /* for scheduler_next */
  pthread_cond_t has_memory;    /* for scheduler_wait_memory */
  struct buffers buffers;
  struct depth depth;
  struct buffer *first, **last; /* the queue: read, but not hashed */
  unsigned queued, reading, hashing; /* buffers */
  unsigned waiting;             /* threads in scheduler_next, */
  unsigned starved;             /* and in scheduler_wait_memory */
  bool ended;                   /* there is nothing more to read */
  bool stopped;
};

/* For FILL, whose ranges TAKE hands out.  The walk can be used from now on. */
void scheduler_init (struct scheduler *scheduler, struct fill *fill,
                     take_function take);

/* And the buffers.  0 or a positive errno. */
int scheduler_set_bounds (struct scheduler *scheduler,
                          const struct scheduler_bounds *bounds);
void scheduler_destroy (struct scheduler *scheduler);

/* ---- What a worker does ---- */

enum scheduler_step {
  SCHEDULER_READ,               /* read into BUFFER, which is empty */
  SCHEDULER_HASH,               /* hash BUFFER */
  SCHEDULER_END,
};

/* Wait for something to do. */
enum scheduler_step scheduler_next (struct scheduler *scheduler,
                                    struct buffer **buffer);

/* Could one more thread do something? */
bool scheduler_lacks_thread (struct scheduler *scheduler);

/* The next range for TAKER becomes the place of BUFFER, which keeps the memory
 * for COPIES of it.  False: there is none, and the buffer is given back.
 */
bool scheduler_take_range (struct scheduler *scheduler, void *taker,
                           struct buffer *buffer, unsigned copies);

/* BUFFER was read, into the queue; or it is known to be zero: it is done. */
void scheduler_was_read (struct scheduler *scheduler, struct buffer *buffer);
void scheduler_is_zero (struct scheduler *scheduler, struct buffer *buffer);

void scheduler_hash (struct scheduler *scheduler, struct buffer *buffer);

/* ---- What a connection does, which has many reads in flight ---- */

/* A buffer of LEN bytes, or NULL if there can be none now. */
struct buffer *scheduler_try_get (struct scheduler *scheduler, size_t len);

/* Wait until there can be one, or it was stopped. */
void scheduler_wait_memory (struct scheduler *scheduler, size_t len);

/* One to hash, unless a thread that waits is about to take it; or NULL. */
struct buffer *scheduler_try_hash (struct scheduler *scheduler);

/* How many buffers may be in use. */
unsigned scheduler_depth (struct scheduler *scheduler);

/* ---- The end ---- */

/* Nothing more will be read. */
void scheduler_end (struct scheduler *scheduler);

/* Nobody waits any more, or is given anything. */
void scheduler_stop (struct scheduler *scheduler);
bool scheduler_is_stopped (struct scheduler *scheduler);

/* The fill failed: all stops.  False if it had failed before. */
bool scheduler_fail (struct scheduler *scheduler, const struct error *error);
bool scheduler_fail_errno (struct scheduler *scheduler, int err,
                           const char *what, uint64_t offset);

#endif /* BLKSUM_SCHEDULER_H */
