/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A reader: threads that read what a scan asks for, and hash it into the leaf
 * table of the scan.  struct reader is what all readers share; the threads are
 * those of an image reader (image-reader.c), which reads files, or of an NBD
 * reader (nbd/nbd-reader.c).
 *
 * The reader hands ranges to the threads, and decides whether a thread reads
 * next, or hashes a buffer that was read.  It limits the memory, the reads in
 * flight and the threads that hash.  It does not read by itself.  All functions
 * except init, set_bounds and destroy are thread-safe.
 *
 * A buffer is in use from before its read until it is hashed.  The depth limits
 * the number of buffers in use.  A thread hashes the oldest buffer that was
 * read if it is allowed to, and reads otherwise; for a pipe, reading comes
 * first.
 *
 * While reads do not wait for the storage, and the depth is the number of
 * threads, the oldest buffer is the one that the thread has just read, so its
 * data stays in the cache of one core.  When reads wait for the storage, there
 * are more threads than may hash, and most of them are in a read.
 *
 * If the scan computes digests of the content, buffers that were hashed are
 * held until these digests have hashed them, too: see content.h.
 *
 * A thread that gets work wakes another thread if there is more work.  So
 * threads are woken one by one; at the end all are woken, to return.
 */

#ifndef BLKSUM_READER_H
#define BLKSUM_READER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/content.h"
#include "read/depth.h"
#include "read/reader-ranges.h"

struct error;
struct scan;
struct source_options;

/* ---- Buffers ---- */

#define BUFFER_MAX_RANGES 16

/* Only the thread that allocated or dequeued the buffer uses its members,
 * unless stated otherwise.
 */
struct buffer {
  struct buffer *next;          /* next one in the queue; protected by the lock
                                 * for the queue */
  unsigned nr_ranges;           /* more than one if one read returns them all */
  struct taken_range ranges[BUFFER_MAX_RANGES]; /* their data is in BYTES, in
                                 * this order; ranges.lock protects each
                                 * ITEM */
  struct content_piece pieces[BUFFER_MAX_RANGES]; /* used while the buffer is
                                 * held */
  unsigned char *bytes;         /* aligned for direct I/O */
  size_t len;                   /* size of the buffer, bytes */
  uint64_t start;               /* start time of the read, ns */
  uint64_t waited, busy;        /* ns: see struct depth_read */

  void *owner;                  /* the image reader, or the NBD connection */

  /* Only for NBD. */
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
  uint64_t held;                /* bytes of the buffers that are held for the
                                 * digests of the content, which are not in use
                                 */
};

/* Returns the number of bytes of all ranges of BUFFER. */
uint64_t buffer_data_len (const struct buffer *buffer);

/* First in, first out. */
struct buffer_queue {
  struct buffer *first, **last; /* LAST points to NEXT of the last buffer, or to
                                 * FIRST if the queue is empty */
  unsigned count;
};

/* ---- The reader ---- */

struct reader_bounds {
  size_t memory;                /* bytes of all buffers */
  size_t max_len;               /* bytes of a buffer */
  unsigned hashing;             /* maximum number of threads that hash */
  unsigned reading;             /* maximum number of threads that read; 0 if
                                 * they only hash */
  unsigned start, depth;        /* initial and highest limit of the number of
                                 * buffers in use */
  bool read_first;              /* prefer reading to hashing, because the writer
                                 * of a pipe waits for reads */
};

struct reader {
  /* Set once. */
  struct scan *scan;
  struct reader_bounds bounds;

  struct reader_ranges ranges;

  pthread_mutex_t lock;         /* protects the fields below */
  pthread_cond_t changed;       /* for reader_next */
  pthread_cond_t has_memory;    /* for reader_wait_memory */
  struct buffers buffers;
  struct depth depth;
  struct buffer_queue queue;    /* of buffers that were read and are not being
                                 * hashed yet */
  unsigned reading, hashing;    /* number of buffers into which threads read;
                                 * number of buffers that are being hashed */
  unsigned waiting;             /* threads that wait in reader_next */
  unsigned waiting_for_memory;  /* threads that wait in reader_wait_memory */
  bool ended;                   /* there are no more ranges to read; reads can
                                 * still be in flight */
  bool stopped;
};

/* Initialize a reader for SCAN, with the ranges that NEXT_RANGE returns, or, if
 * it is NULL, those of CURSOR, which is copied.
 */
void reader_init (struct reader *reader, struct scan *scan,
                  const struct cursor *cursor, next_range_function next_range);

/* Returns the size of all buffers, in bytes, of a reader with OPTIONS.  Held
 * buffers use all of it, and each has pieces, so with digests of the content it
 * is less.
 */
size_t reader_memory (const struct scan *scan,
                      const struct source_options *options);

/* Set the limits, and allocate the buffers.  Returns 0 or a positive errno. */
int reader_set_bounds (struct reader *reader,
                       const struct reader_bounds *bounds);

/* Waits for the digests of the content, unless the scan has failed. */
void reader_destroy (struct reader *reader);

/* ---- The steps of a thread ---- */

enum reader_step {
  READER_READ,                  /* read into BUFFER, which is empty */
  READER_HASH,                  /* hash BUFFER */
  READER_END,                   /* there is no more work, or the reader was
                                 * stopped */
};

/* Wait for the next step of a thread, and return it. */
enum reader_step reader_next (struct reader *reader, struct buffer **buffer);

/* Returns true if there is work for another thread, and no thread waits for it.
 */
bool reader_needs_thread (struct reader *reader);

/* Set the ranges of BUFFER to the next ones, and shrink BUFFER to COPIES times
 * their length.  A next_range_function is called with BUFFER.  Returns true; or
 * false, after freeing BUFFER, if there are no more ranges, if the reader was
 * stopped, or on an error, which fails the scan.
 */
bool reader_next_ranges (struct reader *reader, struct buffer *buffer,
                         unsigned copies);

/* Hand over BUFFER, which was read, to the next thread that can hash. */
void reader_hand_over (struct reader *reader, struct buffer *buffer);

/* Add zeros for the only range of BUFFER, and free BUFFER. */
void reader_add_zero (struct reader *reader, struct buffer *buffer);

/* Hash BUFFER, and free it, or hold it for the digests of the content. */
void reader_hash (struct reader *reader, struct buffer *buffer);

/* ---- Connections, which have many reads in flight ---- */

/* Returns a buffer of LEN bytes for a range at OFFSET, which was taken; NULL if
 * none is available now, or if the reader was stopped.
 */
struct buffer *reader_try_get (struct reader *reader, size_t len,
                               uint64_t offset);

/* Wait until such a buffer is available, or the reader is stopped. */
void reader_wait_memory (struct reader *reader, size_t len, uint64_t offset);

/* Returns a buffer to hash; NULL if there is none, if the limit of hashing
 * threads is reached, if there is a waiting thread for each queued buffer, or
 * if the reader was stopped.
 */
struct buffer *reader_try_hash (struct reader *reader);

/* Returns the maximum number of buffers in use. */
unsigned reader_depth (struct reader *reader);

/* ---- The end ---- */

/* Mark the end of the image: nothing more is read. */
void reader_end (struct reader *reader);

/* Stop: waiting threads return, and no more work or memory is available. */
void reader_stop (struct reader *reader);
bool reader_is_stopped (struct reader *reader);

/* Fail the scan, and stop.  If the reader was stopped before, the error is
 * ignored.
 */
void reader_fail (struct reader *reader, const struct error *error);
void reader_fail_errno (struct reader *reader, int err, const char *what,
                        uint64_t offset);

#endif /* BLKSUM_READER_H */
