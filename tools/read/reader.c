/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Each thread takes the next range, reads it, and passes it to the leaf table,
 * which hashes it in that thread: see scheduler.c.  A thread is started when
 * there is work for another one.  io_uring was not faster than such threads:
 * see docs/blksum-performance.md.
 */

#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "../lib/common/clock.h"
#include "../lib/common/util.h"
#include "io/file-read.h"
#include "read/reader.h"
#include "read/scan.h"
#include "read/scheduler.h"
#include "util/error.h"
#include "util/source-options.h"

/* Measures for how much of a period a thread was busy, that is, did not wait
 * for a device or a server.
 *
 * A thread that waits gives up its CPU voluntarily.  A thread that is preempted
 * still counts as busy.
 */

#ifdef RUSAGE_THREAD

struct cpu_time {
  struct rusage usage;
};

static inline void
cpu_time_start (struct cpu_time *time)
{
  getrusage (RUSAGE_THREAD, &time->usage);
}

static inline uint64_t
cpu_time_ns (const struct rusage *usage)
{
  return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) *
    UINT64_C (1000000000) +
    (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * UINT64_C (1000);
}

/* Returns for how many of the NS nanoseconds since cpu_time_start the calling
 * thread was busy.  The same thread must have called cpu_time_start.  If it
 * both waited and was preempted, all periods without a CPU are assumed to be of
 * equal length.
 */
static inline uint64_t
cpu_time_busy (const struct cpu_time *time, uint64_t ns)
{
  struct rusage now;
  uint64_t waits, losses, cpu;

  getrusage (RUSAGE_THREAD, &now);
  waits = now.ru_nvcsw - time->usage.ru_nvcsw;
  losses = now.ru_nivcsw - time->usage.ru_nivcsw;
  cpu = cpu_time_ns (&now) - cpu_time_ns (&time->usage);
  return waits == 0 || cpu >= ns
    ? ns : cpu + (ns - cpu) / (waits + losses) * losses;
}

#else

/* The system has no RUSAGE_THREAD: the thread counts as waiting all the time.
 */
struct cpu_time {
  char unused;
};

static inline void
cpu_time_start (struct cpu_time *time)
{
  (void) time;
}

static inline uint64_t
cpu_time_busy (const struct cpu_time *time, uint64_t ns)
{
  (void) time; (void) ns;
  return 0;
}

#endif

#define MIB (1024 * 1024)       /* bytes */
#define USUAL_MEMORY (32 * MIB) /* bytes: the buffers of all threads, one for
                                 * each; more if reads would otherwise be
                                 * shorter than 1 MiB */
#define MAX_DEPTH 64            /* reads in flight, unless there are more
                                 * threads */

struct reader {
  const struct reader_image *image;
  size_t memory;                /* size of all buffers, bytes */
  struct scheduler scheduler;

  struct cursor cursor;         /* protected by range_queue.turn */

  pthread_mutex_t lock;         /* protects the fields below */
  pthread_t threads[SOURCE_MAX_THREADS];
  unsigned started;
};

static unsigned
nr_copies (const struct reader_image *image)
{
  return image->reads_two_images ? 2 : 1;
}

/* ---- Reading a range ---- */

/* A thread that requests a range: the argument of the functions of type
 * next_range_function.
 */
struct worker {
  struct reader *reader;
  struct buffer *buffer;
};

static int
next_image_range (void *opaque, struct range *range, struct error *error)
{
  const struct worker *worker = opaque;
  struct reader *reader = worker->reader;
  const struct reader_image *image = reader->image;
  int r = cursor_next (&reader->cursor, range, error);

  if (r == 1 && !range->zero && image->range_flags)
    range->flags = image->range_flags (image->opaque, range);
  return r;
}

static int
next_stream_range (void *opaque, struct range *range, struct error *error)
{
  const struct worker *worker = opaque;
  const struct reader_image *image = worker->reader->image;

  return image->read_next (image->opaque, worker->buffer->bytes,
                           worker->reader->scheduler.bounds.max_len, range,
                           error);
}

static int
read_ranges (const struct reader_image *image, const struct buffer *buffer,
             struct error *error)
{
  const struct range *first = &buffer->ranges[0].range;

  return buffer->nr_ranges == 1
    ? image->read (image->opaque, first, buffer->bytes, error)
    : image->read_adjoining (image->opaque, first, buffer_data_len (buffer),
                             buffer->bytes, error);
}

static void
read_image_ranges (struct reader *reader, struct buffer *buffer)
{
  struct scheduler *scheduler = &reader->scheduler;
  struct cpu_time time;
  uint64_t ns;
  struct error error = { "" };
  int r;

  buffer->start = clock_ns ();
  cpu_time_start (&time);
  r = read_ranges (reader->image, buffer, &error);
  ns = clock_ns () - buffer->start;
  buffer->busy = cpu_time_busy (&time, ns);
  buffer->waited = ns - buffer->busy;
  if (r == -1)
    scheduler_fail (scheduler, &error);
  if (r == READER_ZERO)
    scheduler_add_zero (scheduler, buffer);
  else
    scheduler_queue (scheduler, buffer);
}

/* ---- Threads ---- */

static void *run_thread (void *opaque);

static void
start_thread (struct reader *reader)
{
  SCOPED_LOCK (&reader->lock);

  if (reader->started < SOURCE_MAX_THREADS &&
      pthread_create (&reader->threads[reader->started], NULL, run_thread,
                      reader) == 0)
    reader->started++;
}

static void
start_thread_if_needed (struct reader *reader)
{
  if (scheduler_needs_thread (&reader->scheduler))
    start_thread (reader);
}

/* Read the next ranges into BUFFER.  Another thread, for the ranges after them,
 * is only started when these ranges were found, because an image without data
 * needs no other thread.
 */
static void
read_buffer (struct reader *reader, struct buffer *buffer)
{
  struct worker worker = { .reader = reader, .buffer = buffer };

  if (!scheduler_next_ranges (&reader->scheduler, &worker, buffer,
                              nr_copies (reader->image)))
    return;
  if (reader->image->read_next)
    scheduler_queue (&reader->scheduler, buffer);
  start_thread_if_needed (reader);
  if (!reader->image->read_next)
    read_image_ranges (reader, buffer);
}

static void *
run_thread (void *opaque)
{
  struct reader *reader = opaque;
  struct scheduler *scheduler = &reader->scheduler;
  enum scheduler_step step;
  struct buffer *buffer;

  while ((step = scheduler_next (scheduler, &buffer)) != SCHEDULER_END)
    if (step == SCHEDULER_READ)
      read_buffer (reader, buffer);
    else
      scheduler_hash (scheduler, buffer);
  return NULL;
}

/* Join all threads.  A thread can start another one before it ends, so STARTED
 * can grow during the loop; it is final when all threads that it counts have
 * been joined.
 */
static void
join_threads (struct reader *reader)
{
  unsigned i;

  for (i = 0; ; i++) {
    pthread_t thread;

    {
      SCOPED_LOCK (&reader->lock);

      if (i == reader->started)
        break;
      thread = reader->threads[i];
    }
    pthread_join (thread, NULL);
  }
}

/* The calling thread is one of the workers.  If there is a function begin, this
 * thread calls it before it reads; meanwhile another worker reads, unless one
 * buffer is sufficient.
 */
static void
run_threads (struct reader *reader)
{
  const struct reader_image *image = reader->image;
  struct error error = { "" };

  if (image->begin) {
    if (reader->scheduler.bounds.start > 1)
      start_thread (reader);
    if (image->begin (image->opaque, &error) == -1)
      scheduler_fail (&reader->scheduler, &error);
  }
  run_thread (reader);
  join_threads (reader);
}

/* ---- Sizes ---- */

/* Returns the size of a read: that of a batch of the leaf table, but at least 2
 * MiB, within the limits on memory.  Reads shorter than 2 MiB are much slower
 * on a disk.  A size slightly above that of the L2 cache had no measurable
 * cost.
 */
static size_t
read_size (const struct reader *reader, unsigned threads)
{
  size_t batch = scan_batch_size (reader->scheduler.scan);
  size_t bound = MIN (USUAL_MEMORY, reader->memory) /
    nr_copies (reader->image) / threads;
  /* Two ranges per thread, so that some are hashed while others are read. */
  uint64_t window = window_max_range (&reader->scheduler.range_queue.window,
                                      2 * threads);

  if (batch < 2 * MIB)
    batch = 2 * MIB;
  if (bound < MIB)
    bound = MIB;
  if (bound > window)
    bound = window;
  return MIN (batch, bound);
}

/* Returns the size of a read of a stream: one block, or as many as fit into 1
 * MiB, the default maximum size of a pipe.  With longer reads a run took 12 %
 * more time, because the other threads had nothing to hash in the meantime.
 */
static size_t
stream_read_size (const struct reader *reader, unsigned buffers)
{
  size_t block_size = reader->scheduler.scan->block_size, size = MIB;
  /* With small blocks the window can allow only shorter reads. */
  uint64_t window = window_max_range (&reader->scheduler.range_queue.window,
                                      2 * buffers);

  if (size > window)
    size = window;
  return size < block_size ? block_size : size - size % block_size;
}

/* The bounds for an image: a buffer for each range of the image, but not more
 * than fit into the memory.
 */
static struct scheduler_bounds
image_bounds (const struct reader *reader, unsigned threads)
{
  const struct reader_image *image = reader->image;
  size_t max_len = reader->cursor.max_read * nr_copies (image);
  uint64_t buffers = MIN (image->size / reader->cursor.max_read + 1,
                          MAX (reader->memory / max_len, 1));

  return (struct scheduler_bounds) {
    .memory = MIN (buffers * max_len, reader->memory),
    .max_len = max_len,
    .hashing = threads,
    .reading = SOURCE_MAX_THREADS,
    .start = MIN (buffers, threads),
    .depth = MAX (threads, MAX_DEPTH),
  };
}

/* The bounds for a stream: a buffer for each thread, one that is being read,
 * and one in the queue.
 */
static struct scheduler_bounds
stream_bounds (const struct reader *reader, unsigned threads)
{
  unsigned buffers = threads + 2;
  size_t max_len = stream_read_size (reader, buffers);

  return (struct scheduler_bounds) {
    .memory = MIN (buffers * max_len, reader->memory),
    .max_len = max_len,
    .hashing = threads,
    .reading = 1,
    .start = buffers,
    .depth = buffers,
    .read_first = true,
  };
}

static struct scheduler_bounds
set_sizes (struct reader *reader, unsigned threads)
{
  /* Direct I/O requires aligned offsets, and a block can be smaller than the
   * alignment.
   */
  uint64_t block_size = reader->scheduler.scan->block_size;

  if (reader->image->read_next)
    return stream_bounds (reader, threads);
  cursor_start (&reader->cursor, MAX (block_size, READ_ALIGN),
                read_size (reader, threads));
  return image_bounds (reader, threads);
}

/* ---- Reading an image ---- */

int
reader_scan (const struct reader_image *image,
             const struct source_options *options, struct scan *scan)
{
  struct reader reader = {
    .image = image,
    .memory = options->memory,
    .cursor = {
      .size = image->size,
      .extent_at = options->extents ? image->extent_at : NULL,
      .extent_opaque = image->opaque,
      .missing_at = scan_missing_at,
      .missing_opaque = scan,
    },
    .lock = PTHREAD_MUTEX_INITIALIZER,
  };
  struct scheduler *scheduler = &reader.scheduler;
  struct scheduler_bounds bounds;
  int err;

  scheduler_init (scheduler, scan,
                  image->read_next ? next_stream_range : next_image_range);
  scheduler->range_queue.adjoin = image->adjoin;
  scheduler->range_queue.adjoin_opaque = image->opaque;
  bounds = set_sizes (&reader, options->threads);
  err = scheduler_set_bounds (scheduler, &bounds);
  if (err)
    scheduler_fail_errno (scheduler, err, "cannot read", 0);
  else
    run_threads (&reader);
  scheduler_destroy (scheduler);
  return scan_has_failed (scan) ? -1 : 0;
}
