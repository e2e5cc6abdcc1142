/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/clock.h"
#include "../lib/common/util.h"
#include "io/file-read.h"
#include "read/reader.h"
#include "read/scan.h"
#include "util/error.h"
#include "util/source-options.h"

/* ---- Buffers, their memory and their queue ------------------------------- */

/* The functions of struct buffers and struct buffer_queue are not thread-safe:
 * the caller holds the lock.
 *
 * Memory is allocated in units, the lowest free units first.  Short reads use
 * few units, so many of them can be in flight.  The lowest units are used again
 * and again, so they are likely to be in a CPU cache.  Units that were never
 * used take no memory.
 */

#define UNITS_PER_READ 16       /* number of units in a read of MAX_LEN bytes */

uint64_t
buffer_data_len (const struct buffer *buffer)
{
  uint64_t len = 0;

  for (unsigned i = 0; i < buffer->nr_ranges; i++)
    len += buffer->ranges[i].range.len;
  return len;
}

/* Call scan_add_data for each range.  Returns 0, or the first error. */
static int
buffer_add_data (const struct buffer *buffer, struct scan *scan)
{
  const unsigned char *bytes = buffer->bytes;
  int err = 0;

  for (unsigned i = 0; i < buffer->nr_ranges && err == 0; i++) {
    const struct range *range = &buffer->ranges[i].range;

    err = scan_add_data (scan, bytes, range->len, range->offset);
    bytes += range->len;
  }
  return err;
}

/* Allocate MEMORY bytes, but at least MAX_LEN, for buffers of up to MAX_LEN
 * bytes.  Returns 0 or a positive errno; buffers_destroy must be called in both
 * cases.
 */
static int
buffers_init (struct buffers *buffers, size_t memory, size_t max_len)
{
  size_t unit = ROUND_UP (DIV_ROUND_UP (max_len, UNITS_PER_READ),
                          (size_t) READ_ALIGN);

  if (memory < max_len)
    memory = max_len;
  *buffers = (struct buffers) {
    .unit = unit, .units = DIV_ROUND_UP (memory, unit)
  };
  buffers->bytes = read_alloc (buffers->units * unit);
  buffers->used = calloc (buffers->units, 1);
  buffers->all = calloc (buffers->units, sizeof *buffers->all);
  return buffers->bytes && buffers->used && buffers->all ? 0 : ENOMEM;
}

static void
buffers_destroy (struct buffers *buffers)
{
  free (buffers->all);
  free (buffers->used);
  free (buffers->bytes);
}

/* Returns the index of the first unit at which LEN bytes are free, or the
 * number of units if there is none.
 */
static size_t
find_free (const struct buffers *buffers, size_t len)
{
  size_t count = DIV_ROUND_UP (len, buffers->unit), start = 0;

  while (count <= buffers->units - start) {
    const unsigned char *used = memchr (buffers->used + start, 1, count);

    if (!used)
      return start;
    start = used + 1 - buffers->used;
  }
  return buffers->units;
}

/* Returns a buffer of LEN bytes, or NULL if there is not enough contiguous free
 * memory.
 */
static struct buffer *
buffers_get (struct buffers *buffers, size_t len)
{
  size_t unit = find_free (buffers, len);
  struct buffer *buffer = &buffers->all[unit];

  if (unit == buffers->units)
    return NULL;
  memset (buffers->used + unit, 1, DIV_ROUND_UP (len, buffers->unit));
  buffers->in_use++;
  *buffer = (struct buffer) {
    .len = len, .bytes = buffers->bytes + unit * buffers->unit
  };
  return buffer;
}

/* Returns true if buffers_get would return a buffer. */
static bool
buffers_has (const struct buffers *buffers, size_t len)
{
  return find_free (buffers, len) < buffers->units;
}

static void
buffers_shrink (struct buffers *buffers, struct buffer *buffer, size_t len)
{
  size_t first = buffer - buffers->all;
  size_t kept = DIV_ROUND_UP (len, buffers->unit);
  size_t had = DIV_ROUND_UP (buffer->len, buffers->unit);

  memset (buffers->used + first + kept, 0, had - kept);
  buffer->len = len;
}

static void
buffers_free (struct buffers *buffers, struct buffer *buffer)
{
  buffers_shrink (buffers, buffer, 0);
  buffers->in_use--;
}

static void
buffers_hold (struct buffers *buffers, const struct buffer *buffer)
{
  buffers->held += ROUND_UP (buffer->len, buffers->unit);
  buffers->in_use--;
}

static void
buffers_release (struct buffers *buffers, struct buffer *buffer)
{
  buffers->held -= ROUND_UP (buffer->len, buffers->unit);
  buffers_shrink (buffers, buffer, 0);
}

static void
buffer_queue_init (struct buffer_queue *queue)
{
  *queue = (struct buffer_queue) { .last = &queue->first };
}

static void
buffer_queue_push (struct buffer_queue *queue, struct buffer *buffer)
{
  buffer->next = NULL;
  *queue->last = buffer;
  queue->last = &buffer->next;
  queue->count++;
}

/* The queue must not be empty. */
static struct buffer *
buffer_queue_pop (struct buffer_queue *queue)
{
  struct buffer *buffer = queue->first;

  queue->first = buffer->next;
  if (!queue->first)
    queue->last = &queue->first;
  queue->count--;
  return buffer;
}

/* ---- The reader ---------------------------------------------------------- */

/* ---- Buffers in use, and held buffers ---- */

/* Most bytes that are held when a read begins.  If the storage is faster than
 * the digests of the content, it waits for them; if it is a little slower, this
 * covers its pauses.  More would only displace data from the CPU caches.
 *
 * The digests need the ranges in order.  So a range that was taken must get
 * memory although all ranges after it are held.  A thread of an image reader
 * has a buffer before it takes a range.  A connection has not, so the others
 * leave enough memory for the range at which the digests wait: see
 * can_get_locked.
 */
#define MAX_HELD (32 * 1024 * 1024)

static bool
has_buffer_locked (const struct reader *reader, size_t len)
{
  return reader->buffers.in_use < reader->depth.limit &&
    reader->buffers.held < MAX_HELD && buffers_has (&reader->buffers, len);
}

static struct buffer *
get_locked (struct reader *reader, size_t len)
{
  return has_buffer_locked (reader, len)
    ? buffers_get (&reader->buffers, len) : NULL;
}

static struct buffer *
dequeue_locked (struct reader *reader)
{
  reader->hashing++;
  return buffer_queue_pop (&reader->queue);
}

/* ---- The next step ---- */

static bool
can_hash_locked (const struct reader *reader)
{
  return reader->queue.count > 0 && reader->hashing < reader->bounds.hashing;
}

static bool
may_read_locked (const struct reader *reader)
{
  return !reader->ended && reader->reading < reader->bounds.reading;
}

static bool
has_work_locked (const struct reader *reader)
{
  return can_hash_locked (reader) ||
    (may_read_locked (reader) &&
     has_buffer_locked (reader, reader->bounds.max_len));
}

static void
wake_locked (struct reader *reader)
{
  if (reader->waiting > 0 && has_work_locked (reader))
    pthread_cond_signal (&reader->changed);
}

/* A content_advanced_function. */
static void
content_advanced (void *opaque, struct buffer *buffer)
{
  struct reader *reader = opaque;
  SCOPED_LOCK (&reader->lock);

  if (buffer) {
    buffers_release (&reader->buffers, buffer);
    wake_locked (reader);
  }
  if (reader->waiting_for_memory > 0)
    pthread_cond_broadcast (&reader->has_memory);
}

static bool
try_read_locked (struct reader *reader, struct buffer **buffer)
{
  if (!may_read_locked (reader))
    return false;
  *buffer = get_locked (reader, reader->bounds.max_len);
  if (!*buffer)
    return false;
  reader->reading++;
  return true;
}

/* Returns READER_END if there is no work at the moment. */
static enum reader_step
try_next_locked (struct reader *reader, struct buffer **buffer)
{
  if (reader->bounds.read_first && try_read_locked (reader, buffer))
    return READER_READ;
  if (can_hash_locked (reader)) {
    *buffer = dequeue_locked (reader);
    return READER_HASH;
  }
  return try_read_locked (reader, buffer) ? READER_READ : READER_END;
}

/* After the end of the image, a thread that finds no work returns.  Threads
 * that still read or hash take the remaining buffers.
 */
enum reader_step
reader_next (struct reader *reader, struct buffer **buffer)
{
  enum reader_step step;
  SCOPED_LOCK (&reader->lock);

  while (!reader->stopped) {
    step = try_next_locked (reader, buffer);
    if (step != READER_END) {
      wake_locked (reader);
      return step;
    }
    if (reader->ended)
      break;
    reader->waiting++;
    pthread_cond_wait (&reader->changed, &reader->lock);
    reader->waiting--;
  }
  return READER_END;
}

bool
reader_needs_thread (struct reader *reader)
{
  SCOPED_LOCK (&reader->lock);

  return reader->waiting == 0 && !reader->stopped &&
    has_work_locked (reader);
}

/* ---- Stop ---- */

void
reader_stop (struct reader *reader)
{
  {
    SCOPED_LOCK (&reader->lock);
    reader->stopped = true;
    pthread_cond_broadcast (&reader->changed);
    pthread_cond_broadcast (&reader->has_memory);
  }
  reader_ranges_stop (&reader->ranges);
}

bool
reader_is_stopped (struct reader *reader)
{
  SCOPED_LOCK (&reader->lock);

  return reader->stopped;
}

void
reader_fail (struct reader *reader, const struct error *error)
{
  if (!reader_is_stopped (reader))
    scan_fail (reader->scan, error);
  reader_stop (reader);
}

void
reader_fail_errno (struct reader *reader, int err, const char *what,
                   uint64_t offset)
{
  struct error error = { "" };

  error_errno (&error, err, "%s at offset %" PRIu64, what, offset);
  reader_fail (reader, &error);
}

/* ---- Read ---- */

static void
end_locked (struct reader *reader)
{
  reader->ended = true;
  pthread_cond_broadcast (&reader->changed);
}

static void
return_buffer (struct reader *reader, struct buffer *buffer)
{
  SCOPED_LOCK (&reader->lock);

  reader->reading--;
  buffers_free (&reader->buffers, buffer);
  end_locked (reader);
}

static void
shrink_buffer (struct reader *reader, struct buffer *buffer, unsigned copies)
{
  size_t kept = copies * ROUND_UP (buffer_data_len (buffer),
                                   (uint64_t) READ_ALIGN);

  SCOPED_LOCK (&reader->lock);

  if (kept < buffer->len) {
    buffers_shrink (&reader->buffers, buffer, kept);
    wake_locked (reader);
  }
}

bool
reader_next_ranges (struct reader *reader, struct buffer *buffer,
                    unsigned copies)
{
  struct error error = { "" };
  enum next_range next =
    reader_ranges_next (&reader->ranges, buffer, buffer->ranges,
                        BUFFER_MAX_RANGES, buffer->len / copies,
                        &buffer->nr_ranges, &error);

  if (next == NEXT_ERROR)
    reader_fail (reader, &error);
  if (next != NEXT_FOUND) {
    return_buffer (reader, buffer);
    return false;
  }
  shrink_buffer (reader, buffer, copies);
  return true;
}

/* A thread of an image reader calls reader_next after this, and wakes another
 * thread there if there is more work.  A connection does not call reader_next,
 * so a thread is woken here.
 */
void
reader_hand_over (struct reader *reader, struct buffer *buffer)
{
  SCOPED_LOCK (&reader->lock);

  buffer_queue_push (&reader->queue, buffer);
  if (reader->bounds.reading > 0)
    reader->reading--;
  else
    wake_locked (reader);
}

/* ---- Hash ---- */

/* Set the pieces of BUFFER, whose data is in BYTES without gaps. */
static void
set_pieces (struct buffer *buffer)
{
  const unsigned char *bytes = buffer->bytes;
  unsigned i;

  for (i = 0; i < buffer->nr_ranges; i++) {
    const struct range *range = &buffer->ranges[i].range;

    buffer->pieces[i] = (struct content_piece) {
      .offset = range->offset, .len = range->len, .data = bytes
    };
    bytes += range->len;
  }
  buffer->pieces[i - 1].buffer = buffer;
}

/* Report that BUFFER is done.  ERR is the result of adding it to the table.
 * COUNT points to reader->reading or reader->hashing.  Free BUFFER, or, if it
 * has data, hold it for the digests of CONTENT, which can be NULL.
 */
static void
finish_buffer (struct reader *reader, struct buffer *buffer, int err,
               struct content *content, unsigned *count)
{
  const struct depth_read read = {
    .start = buffer->start, .end = clock_ns (), .waited = buffer->waited,
    .busy = buffer->busy, .len = buffer_data_len (buffer),
  };

  if (err)
    reader_fail_errno (reader, err, "cannot hash",
                       buffer->ranges[0].range.offset);
  for (unsigned i = 0; i < buffer->nr_ranges; i++)
    reader_ranges_done (&reader->ranges, &buffer->ranges[i]);
  {
    SCOPED_LOCK (&reader->lock);

    depth_read_done (&reader->depth, &read);
    if (content)
      buffers_hold (&reader->buffers, buffer);
    else
      buffers_free (&reader->buffers, buffer);
    --*count;
    if (reader->waiting_for_memory > 0)
      pthread_cond_broadcast (&reader->has_memory);
  }
  if (content) {
    set_pieces (buffer);
    content_add_data (content, buffer->pieces, buffer->nr_ranges);
  }
}

void
reader_add_zero (struct reader *reader, struct buffer *buffer)
{
  const struct range *range = &buffer->ranges[0].range;
  int err = scan_add_zero (reader->scan, range->len, range->offset);

  finish_buffer (reader, buffer, err, NULL, &reader->reading);
}

void
reader_hash (struct reader *reader, struct buffer *buffer)
{
  uint64_t start;
  int err;

  start = clock_ns ();
  err = buffer_add_data (buffer, reader->scan);
  buffer->busy += clock_ns () - start;
  finish_buffer (reader, buffer, err, reader->scan->request.content,
                 &reader->hashing);
}

/* ---- Connections ---- */

/* May the range at OFFSET, which was taken, get a buffer of LEN bytes?  While
 * the digests of the content wait for this range, the held buffers are after
 * it.  Other ranges leave enough memory for any range.
 */
static bool
can_get_locked (const struct reader *reader, size_t len, uint64_t offset)
{
  struct content *content = reader->scan->request.content;

  if (content && content_position (content) == offset)
    return reader->buffers.in_use < reader->depth.limit &&
      buffers_has (&reader->buffers, len);
  if (content)
    len += reader->bounds.max_len;
  return has_buffer_locked (reader, len);
}

struct buffer *
reader_try_get (struct reader *reader, size_t len, uint64_t offset)
{
  SCOPED_LOCK (&reader->lock);

  return !reader->stopped && can_get_locked (reader, len, offset)
    ? buffers_get (&reader->buffers, len) : NULL;
}

void
reader_wait_memory (struct reader *reader, size_t len, uint64_t offset)
{
  SCOPED_LOCK (&reader->lock);

  reader->waiting_for_memory++;
  while (!can_get_locked (reader, len, offset) && !reader->stopped)
    pthread_cond_wait (&reader->has_memory, &reader->lock);
  reader->waiting_for_memory--;
}

struct buffer *
reader_try_hash (struct reader *reader)
{
  SCOPED_LOCK (&reader->lock);

  return !reader->stopped && can_hash_locked (reader) &&
    reader->queue.count > reader->waiting ? dequeue_locked (reader) : NULL;
}

unsigned
reader_depth (struct reader *reader)
{
  SCOPED_LOCK (&reader->lock);

  return reader->depth.limit;
}

/* ---- The end ---- */

void
reader_end (struct reader *reader)
{
  SCOPED_LOCK (&reader->lock);

  end_locked (reader);
}

/* ---- Create and destroy ---- */

void
reader_init (struct reader *reader, struct scan *scan,
             const struct cursor *cursor, next_range_function next_range)
{
  *reader = (struct reader) { .scan = scan };
  buffer_queue_init (&reader->queue);
  reader_ranges_init (&reader->ranges, scan, cursor, next_range);
  pthread_mutex_init (&reader->lock, NULL);
  pthread_cond_init (&reader->changed, NULL);
  pthread_cond_init (&reader->has_memory, NULL);
  if (scan->request.content)
    content_attach (scan->request.content, content_advanced, reader,
                    scan->request.progress);
}

/* Bytes.  Without it a sum with blocks of 512 bytes and 128 threads took 133
 * MiB, and with it 115.
 */
#define CONTENT_MEMORY (16 * 1024 * 1024)

size_t
reader_memory (const struct scan *scan, const struct source_options *options)
{
  return options->memory - (scan->request.content ? CONTENT_MEMORY : 0);
}

int
reader_set_bounds (struct reader *reader, const struct reader_bounds *bounds)
{
  reader->bounds = *bounds;
  depth_init (&reader->depth, bounds->start, bounds->depth, bounds->hashing);
  return buffers_init (&reader->buffers, bounds->memory, bounds->max_len);
}

#define CHECK_INTERVAL (NS_PER_SECOND / 2) /* between checks whether the scan
                                            * is canceled */

/* Wait until the digests of the content have hashed all held buffers. */
static void
drain (struct content *content, struct scan *scan)
{
  do
    if (scan_has_failed (scan))
      content_stop (content);
  while (!content_wait (content, CHECK_INTERVAL));
  content_detach (content);
}

void
reader_destroy (struct reader *reader)
{
  if (reader->scan->request.content)
    drain (reader->scan->request.content, reader->scan);
  buffers_destroy (&reader->buffers);
  pthread_cond_destroy (&reader->has_memory);
  pthread_cond_destroy (&reader->changed);
  pthread_mutex_destroy (&reader->lock);
  reader_ranges_destroy (&reader->ranges);
}
