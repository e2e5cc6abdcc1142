/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "../lib/common/clock.h"
#include "../lib/common/util.h"
#include "io/file-read.h"
#include "io/file.h"
#include "read/image-reader.h"
#include "read/reader.h"
#include "read/scan.h"
#include "util/error.h"
#include "util/source-options.h"

/* ---- The CPU time of a thread -------------------------------------------- */

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

/* ---- The reader ---------------------------------------------------------- */

#define MIB (1024 * 1024)       /* bytes */
#define USUAL_MEMORY (32 * MIB) /* bytes: the buffers of all threads, one for
                                 * each; more if reads would otherwise be
                                 * shorter than 1 MiB */
#define MAX_DEPTH 64            /* reads in flight, unless there are more
                                 * threads */

struct image_reader {
  const struct image_ops *image;
  size_t memory;                /* size of all buffers, bytes */
  struct reader base;           /* what all readers share */

  pthread_mutex_t lock;         /* protects the fields below */
  pthread_t threads[SOURCE_MAX_THREADS];
  unsigned started;
};

static unsigned
nr_copies (const struct image_ops *image)
{
  return image->reads_two_images ? 2 : 1;
}

/* ---- Reading a range ---- */

static enum next_range
next_stream_range (void *opaque, struct range *range, struct error *error)
{
  const struct buffer *buffer = opaque;
  const struct image_reader *reader = buffer->owner;
  const struct image_ops *image = reader->image;

  return image->read_next (image->opaque, buffer->bytes,
                           reader->base.bounds.max_len, range, error);
}

/* Returns how many of the LEN bytes at PLACE are zeros, or can be read from a
 * file.  Only whole pages can be read with direct I/O, or dropped from the page
 * cache.
 */
static uint64_t
known_len (const struct image_ops *image, const struct place *place,
           uint64_t len)
{
  if (place->kind == PLACE_ZEROS)
    return len;
  if (place->kind == PLACE_UNKNOWN)
    return 0;
  if (!image->whole_pages)
    return len;
  return place->host % READ_ALIGN == 0
    ? ROUND_DOWN (len, (uint64_t) READ_ALIGN) : 0;
}

/* Returns the length of the extents of RANGE from *N on whose places number I
 * are adjacent, and advances *N to the next extent.
 */
static uint64_t
adjacent_len (const struct range *range, unsigned i, size_t *n)
{
  const struct extent *extents = range->extents;
  const struct place *place = &extents[*n].place[i];
  uint64_t len = 0;

  do
    len += extents[(*n)++].len;
  while (*n < range->nr_extents &&
         place_continues (place, len, &extents[*n].place[i]));
  return len;
}

/* Read the part of RANGE from FROM to TO, whose place is not known. */
static int
read_unknown (const struct image_ops *image, const struct range *range,
              uint64_t from, uint64_t to, void *buf, struct error *error)
{
  const struct range part = {
    .offset = range->offset + from, .len = to - from
  };

  return part.len > 0
    ? image->read (image->opaque, &part, (char *) buf + from, error) : 0;
}

int
image_reader_read (const struct image_ops *image, const struct range *range,
                   unsigned i, void *buf, struct error *error)
{
  uint64_t done = 0, at = 0;    /* the place from DONE to AT is not known */
  size_t n = 0;

  while (n < range->nr_extents && at < range->len) {
    const struct place *place = &range->extents[n].place[i];
    uint64_t len = adjacent_len (range, i, &n), known;
    char *to = (char *) buf + at;

    len = MIN (len, range->len - at); /* the last extent can be longer */
    known = known_len (image, place, len);
    if (known > 0) {
      if (read_unknown (image, range, done, at, buf, error) == -1)
        return -1;
      if (place->kind == PLACE_ZEROS)
        memset (to, 0, known);
      else if (file_read (place->file, to, known, place->host,
                          range->offset + at, error) == -1)
        return -1;
      done = at + known;
    }
    at += len;
  }
  return read_unknown (image, range, done, range->len, buf, error);
}

/* If there are several ranges, their data is adjacent in one file. */
static int
read_ranges (const struct image_ops *image, const struct buffer *buffer,
             struct error *error)
{
  const struct range *first = &buffer->ranges[0].range;
  const struct place *place;

  if (buffer->nr_ranges > 1) {
    place = &first->extents[0].place[0];
    return file_read (place->file, buffer->bytes, buffer_data_len (buffer),
                      place->host, first->offset, error);
  }
  return image->reads_two_images
    ? image->read (image->opaque, first, buffer->bytes, error)
    : image_reader_read (image, first, 0, buffer->bytes, error);
}

static void
free_extents (struct buffer *buffer)
{
  for (unsigned i = 0; i < buffer->nr_ranges; i++) {
    free (buffer->ranges[i].range.extents);
    buffer->ranges[i].range.extents = NULL;
  }
}

static void
read_image_ranges (struct image_reader *reader, struct buffer *buffer)
{
  struct reader *base = &reader->base;
  struct cpu_time time;
  uint64_t ns;
  struct error error = { "" };
  int r;

  buffer->start = clock_ns ();
  cpu_time_start (&time);
  r = read_ranges (reader->image, buffer, &error);
  free_extents (buffer);
  ns = clock_ns () - buffer->start;
  buffer->busy = cpu_time_busy (&time, ns);
  buffer->waited = ns - buffer->busy;
  if (r == -1)
    reader_fail (base, &error);
  if (r == IMAGE_ZERO)
    reader_add_zero (base, buffer);
  else
    reader_hand_over (base, buffer);
}

/* ---- Threads ---- */

static void *run_thread (void *opaque);

static void
start_thread (struct image_reader *reader)
{
  SCOPED_LOCK (&reader->lock);

  if (reader->started < SOURCE_MAX_THREADS &&
      pthread_create (&reader->threads[reader->started], NULL, run_thread,
                      reader) == 0)
    reader->started++;
}

static void
start_thread_if_needed (struct image_reader *reader)
{
  if (reader_needs_thread (&reader->base))
    start_thread (reader);
}

/* Read the next ranges into BUFFER.  Another thread, for the ranges after them,
 * is only started when these ranges were found, because an image without data
 * needs no other thread.
 */
static void
read_buffer (struct image_reader *reader, struct buffer *buffer)
{
  buffer->owner = reader;
  if (!reader_next_ranges (&reader->base, buffer, nr_copies (reader->image)))
    return;
  if (reader->image->read_next)
    reader_hand_over (&reader->base, buffer);
  start_thread_if_needed (reader);
  if (!reader->image->read_next)
    read_image_ranges (reader, buffer);
}

static void *
run_thread (void *opaque)
{
  struct image_reader *reader = opaque;
  struct reader *base = &reader->base;
  enum reader_step step;
  struct buffer *buffer;

  while ((step = reader_next (base, &buffer)) != READER_END)
    if (step == READER_READ)
      read_buffer (reader, buffer);
    else
      reader_hash (base, buffer);
  return NULL;
}

/* Join all threads.  A thread can start another one before it ends, so STARTED
 * can grow during the loop; it is final when all threads that it counts have
 * been joined.
 */
static void
join_threads (struct image_reader *reader)
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

/* The calling thread reads, too.  If there is a function begin, this thread
 * calls it before it reads; meanwhile another thread reads, unless one buffer
 * is sufficient.
 */
static void
run_threads (struct image_reader *reader)
{
  const struct image_ops *image = reader->image;
  struct error error = { "" };

  if (image->begin) {
    if (reader->base.bounds.start > 1)
      start_thread (reader);
    if (image->begin (image->opaque, &error) == -1)
      reader_fail (&reader->base, &error);
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
read_size (const struct image_reader *reader, unsigned threads)
{
  size_t batch = scan_batch_size (reader->base.scan);
  size_t bound = MIN (USUAL_MEMORY, reader->memory) /
    nr_copies (reader->image) / threads;
  /* Two ranges per thread, so that some are hashed while others are read. */
  uint64_t window = window_max_range (&reader->base.ranges.window,
                                      2 * threads);

  batch = MAX (batch, 2 * MIB);
  bound = MIN (MAX (bound, MIB), window);
  return MIN (batch, bound);
}

/* Returns the size of a read of a stream: one block, or as many as fit into 1
 * MiB, the default maximum size of a pipe.  With longer reads blksum took 12 %
 * more time, because the other threads had nothing to hash in the meantime.
 */
static size_t
stream_read_size (const struct image_reader *reader, unsigned buffers)
{
  size_t block_size = reader->base.scan->block_size, size = MIB;
  /* With small blocks the window can allow only shorter reads. */
  uint64_t window = window_max_range (&reader->base.ranges.window,
                                      2 * buffers);

  size = MIN (size, window);
  return size < block_size ? block_size : size - size % block_size;
}

/* The bounds for an image: a buffer for each range of the image, but not more
 * than fit into the memory.
 */
static struct reader_bounds
image_bounds (const struct image_reader *reader, unsigned threads)
{
  const struct image_ops *image = reader->image;
  size_t max_len = reader->base.ranges.cursor.max_read * nr_copies (image);
  uint64_t buffers = MIN (image->size / reader->base.ranges.cursor.max_read + 1,
                          MAX (reader->memory / max_len, 1));

  return (struct reader_bounds) {
    .memory = MIN (buffers * max_len, reader->memory),
    .max_len = max_len,
    .hashing = threads,
    .reading = SOURCE_MAX_THREADS,
    .start = MIN (buffers, threads),
    .depth = MAX (threads, MAX_DEPTH),
  };
}

/* The bounds for a stream: a buffer for each thread, one that is being read,
 * and one in the queue; and as many that are held for digests of the content.
 */
static struct reader_bounds
stream_bounds (const struct image_reader *reader, unsigned threads)
{
  unsigned buffers = threads + 2;
  size_t max_len = stream_read_size (reader, buffers);
  unsigned held = reader->base.scan->request.content ? buffers : 0;

  return (struct reader_bounds) {
    .memory = MIN ((buffers + held) * max_len, reader->memory),
    .max_len = max_len,
    .hashing = threads,
    .reading = 1,
    .start = buffers,
    .depth = buffers,
    .read_first = true,
  };
}

static struct reader_bounds
set_sizes (struct image_reader *reader, unsigned threads)
{
  /* Direct I/O requires aligned offsets, and a block can be smaller than the
   * alignment.
   */
  uint64_t block_size = reader->base.scan->block_size;

  if (reader->image->read_next)
    return stream_bounds (reader, threads);
  cursor_start (&reader->base.ranges.cursor, MAX (block_size, READ_ALIGN),
                read_size (reader, threads));
  return image_bounds (reader, threads);
}

/* ---- Reading an image ---- */

int
image_reader_scan (const struct image_ops *image,
                   const struct source_options *options, struct scan *scan)
{
  struct image_reader reader = {
    .image = image,
    .memory = reader_memory (scan, options),
    .lock = PTHREAD_MUTEX_INITIALIZER,
  };
  const struct cursor cursor = {
    .size = image->size,
    .extent_at = options->extents ? image->extent_at : NULL,
    .extent_opaque = image->opaque,
    .missing_at = scan_missing_at,
    .missing_opaque = scan,
    .keep_places = true,
  };
  struct reader *base = &reader.base;
  struct reader_bounds bounds;
  int err;

  reader_init (base, scan, &cursor,
               image->read_next ? next_stream_range : NULL);
  base->ranges.joins = image->joins;
  bounds = set_sizes (&reader, options->threads);
  err = reader_set_bounds (base, &bounds);
  if (err)
    reader_fail_errno (base, err, "cannot read", 0);
  else
    run_threads (&reader);
  reader_destroy (base);
  return scan_has_failed (scan) ? -1 : 0;
}
