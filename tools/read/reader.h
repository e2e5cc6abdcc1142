/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Schedule the threads that read an image and fill a leaf table: decide whether
 * a thread reads next, or hashes a buffer that was read.
 *
 * The scheduler limits the memory, the reads in flight and the threads that
 * hash.  It does not read by itself.  All functions except init, set_bounds and
 * destroy are thread-safe.
 */

#ifndef BLKSUM_READER_H
#define BLKSUM_READER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/depth.h"
#include "read/reader-ranges.h"

/* The buffers of reads, an allocator for their memory, and a queue of buffers.
 * Not thread-safe: the caller holds a lock.
 */

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

struct error;
struct scan;

struct scheduler_bounds {
  size_t memory;                /* bytes of all buffers */
  size_t max_len;               /* bytes of a buffer */
  unsigned hashing;             /* maximum number of threads that hash */
  unsigned reading;             /* maximum number of threads that read; 0 if
                                 * workers only hash */
  unsigned start, depth;        /* initial and highest limit of the number of
                                 * buffers in use */
  bool read_first;              /* prefer reading to hashing, because the writer
                                 * of a pipe waits for reads */
};

struct scheduler {
  /* Set once. */
  struct scan *scan;
  struct scheduler_bounds bounds;

  struct range_queue range_queue;

  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t changed;       /* for scheduler_next */
  pthread_cond_t has_memory;    /* for scheduler_wait_memory */
  struct buffers buffers;
  struct depth depth;
  struct buffer_queue queue;    /* of buffers that were read and are not being
                                 * hashed yet */
  unsigned reading, hashing;    /* number of buffers into which workers read;
                                 * number of buffers that are being hashed */
  unsigned waiting;             /* threads that wait in scheduler_next */
  unsigned waiting_for_memory;  /* threads that wait in scheduler_wait_memory */
  bool ended;                   /* there are no more ranges to read; reads can
                                 * still be in flight */
  bool stopped;
};

/* Initialize a scheduler for SCAN, whose ranges NEXT_RANGE returns.  The
 * range queue can be used after this.
 */
void scheduler_init (struct scheduler *scheduler, struct scan *scan,
                     next_range_function next_range);

/* Set the limits, and allocate the buffers.  Returns 0 or a positive errno. */
int scheduler_set_bounds (struct scheduler *scheduler,
                          const struct scheduler_bounds *bounds);
void scheduler_destroy (struct scheduler *scheduler);

/* ---- Workers ---- */

enum scheduler_step {
  SCHEDULER_READ,               /* read into BUFFER, which is empty */
  SCHEDULER_HASH,               /* hash BUFFER */
  SCHEDULER_END,                /* there is no more work, or the scheduler was
                                 * stopped */
};

/* Wait for the next step of a worker, and return it. */
enum scheduler_step scheduler_next (struct scheduler *scheduler,
                                    struct buffer **buffer);

/* Returns true if there is work for another thread, and no thread waits for it.
 */
bool scheduler_needs_thread (struct scheduler *scheduler);

/* Set the ranges of BUFFER to the next ones for WORKER, and shrink BUFFER to
 * COPIES times their length.  Returns true; or false, after freeing BUFFER, if
 * there are no more ranges, if the scheduler was stopped, or on an error, which
 * fails the scan.
 */
bool scheduler_next_ranges (struct scheduler *scheduler, void *worker,
                            struct buffer *buffer, unsigned copies);

/* Queue BUFFER, which was read. */
void scheduler_queue (struct scheduler *scheduler, struct buffer *buffer);

/* Add zeros for the only range of BUFFER, and free BUFFER. */
void scheduler_add_zero (struct scheduler *scheduler, struct buffer *buffer);

/* Hash BUFFER, and free it. */
void scheduler_hash (struct scheduler *scheduler, struct buffer *buffer);

/* ---- Connections, which have many reads in flight ---- */

/* Returns a buffer of LEN bytes; NULL if none is available now, or if the
 * scheduler was stopped.
 */
struct buffer *scheduler_try_get (struct scheduler *scheduler, size_t len);

/* Wait until LEN bytes are available, or the scheduler is stopped. */
void scheduler_wait_memory (struct scheduler *scheduler, size_t len);

/* Returns a buffer to hash; NULL if there is none, if the limit of hashing
 * threads is reached, if there is a waiting thread for each queued buffer, or
 * if the scheduler was stopped.
 */
struct buffer *scheduler_try_hash (struct scheduler *scheduler);

/* Returns the maximum number of buffers in use. */
unsigned scheduler_depth (struct scheduler *scheduler);

/* ---- The end ---- */

/* Mark the end of the image: nothing more is read. */
void scheduler_end (struct scheduler *scheduler);

/* Stop: waiting threads return, and no more work or memory is available. */
void scheduler_stop (struct scheduler *scheduler);
bool scheduler_is_stopped (struct scheduler *scheduler);

/* Fail the scan, and stop.  If the scheduler was stopped before, the error is
 * ignored.
 */
void scheduler_fail (struct scheduler *scheduler, const struct error *error);
void scheduler_fail_errno (struct scheduler *scheduler, int err,
                           const char *what, uint64_t offset);

#endif /* BLKSUM_READER_H */
