/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A buffer is in use from before its read until it is hashed.  The queue depth
 * limits the number of buffers in use.  A thread hashes the oldest buffer in
 * the queue if it is allowed to, and reads otherwise; for a pipe, reading comes
 * first.
 *
 * While reads do not wait for the storage, and the depth is the number of
 * threads, the oldest buffer is the one that the thread has just read, so its
 * data stays in the cache of one core.  When reads wait for the storage, there
 * are more threads than may hash, and most of them are in a read.
 *
 * A thread that gets work wakes another thread if there is more work.  So
 * threads are woken one by one; at the end all are woken, to return.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/common/clock.h"
#include "../lib/common/util.h"
#include "io/file-read.h"
#include "read/scan.h"
#include "read/reader.h"
#include "util/error.h"

/* Memory is allocated in units, the lowest free units first.  Short reads use
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

int
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

int
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

void
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

struct buffer *
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

bool
buffers_has (const struct buffers *buffers, size_t len)
{
  return find_free (buffers, len) < buffers->units;
}

void
buffers_shrink (struct buffers *buffers, struct buffer *buffer, size_t len)
{
  size_t first = buffer - buffers->all;
  size_t kept = DIV_ROUND_UP (len, buffers->unit);
  size_t had = DIV_ROUND_UP (buffer->len, buffers->unit);

  memset (buffers->used + first + kept, 0, had - kept);
  buffer->len = len;
}

void
buffers_free (struct buffers *buffers, struct buffer *buffer)
{
  buffers_shrink (buffers, buffer, 0);
  buffers->in_use--;
}

void
buffer_queue_init (struct buffer_queue *queue)
{
  *queue = (struct buffer_queue) { .last = &queue->first };
}

void
buffer_queue_push (struct buffer_queue *queue, struct buffer *buffer)
{
  buffer->next = NULL;
  *queue->last = buffer;
  queue->last = &buffer->next;
  queue->count++;
}

struct buffer *
buffer_queue_pop (struct buffer_queue *queue)
{
  struct buffer *buffer = queue->first;

  queue->first = buffer->next;
  if (!queue->first)
    queue->last = &queue->first;
  queue->count--;
  return buffer;
}

void
scheduler_init (struct scheduler *scheduler, struct scan *scan,
                next_range_function next_range)
{
  *scheduler = (struct scheduler) { .scan = scan };
  buffer_queue_init (&scheduler->queue);
  range_queue_init (&scheduler->range_queue, scan, next_range);
  pthread_mutex_init (&scheduler->lock, NULL);
  pthread_cond_init (&scheduler->changed, NULL);
  pthread_cond_init (&scheduler->has_memory, NULL);
}

int
scheduler_set_bounds (struct scheduler *scheduler,
                      const struct scheduler_bounds *bounds)
{
  scheduler->bounds = *bounds;
  depth_init (&scheduler->depth, bounds->start, bounds->depth,
              bounds->hashing);
  return buffers_init (&scheduler->buffers, bounds->memory, bounds->max_len);
}

void
scheduler_destroy (struct scheduler *scheduler)
{
  buffers_destroy (&scheduler->buffers);
  pthread_cond_destroy (&scheduler->has_memory);
  pthread_cond_destroy (&scheduler->changed);
  pthread_mutex_destroy (&scheduler->lock);
  range_queue_destroy (&scheduler->range_queue);
}

/* ---- Buffers ---- */

static bool
has_buffer_locked (const struct scheduler *scheduler, size_t len)
{
  return scheduler->buffers.in_use < scheduler->depth.limit &&
    buffers_has (&scheduler->buffers, len);
}

static struct buffer *
get_locked (struct scheduler *scheduler, size_t len)
{
  return scheduler->buffers.in_use < scheduler->depth.limit
    ? buffers_get (&scheduler->buffers, len) : NULL;
}

static struct buffer *
dequeue_locked (struct scheduler *scheduler)
{
  scheduler->hashing++;
  return buffer_queue_pop (&scheduler->queue);
}

/* ---- The next step ---- */

static bool
can_hash_locked (const struct scheduler *scheduler)
{
  return scheduler->queue.count > 0 &&
    scheduler->hashing < scheduler->bounds.hashing;
}

static bool
may_read_locked (const struct scheduler *scheduler)
{
  return !scheduler->ended && scheduler->reading < scheduler->bounds.reading;
}

static bool
has_work_locked (const struct scheduler *scheduler)
{
  return can_hash_locked (scheduler) ||
    (may_read_locked (scheduler) &&
     has_buffer_locked (scheduler, scheduler->bounds.max_len));
}

static void
wake_locked (struct scheduler *scheduler)
{
  if (scheduler->waiting > 0 && has_work_locked (scheduler))
    pthread_cond_signal (&scheduler->changed);
}

static bool
try_read_locked (struct scheduler *scheduler, struct buffer **buffer)
{
  if (!may_read_locked (scheduler))
    return false;
  *buffer = get_locked (scheduler, scheduler->bounds.max_len);
  if (!*buffer)
    return false;
  scheduler->reading++;
  return true;
}

/* Returns SCHEDULER_END if there is no work at the moment. */
static enum scheduler_step
try_next_locked (struct scheduler *scheduler, struct buffer **buffer)
{
  if (scheduler->bounds.read_first && try_read_locked (scheduler, buffer))
    return SCHEDULER_READ;
  if (can_hash_locked (scheduler)) {
    *buffer = dequeue_locked (scheduler);
    return SCHEDULER_HASH;
  }
  return try_read_locked (scheduler, buffer) ? SCHEDULER_READ : SCHEDULER_END;
}

/* After the end of the image, a thread that finds no work returns.  Threads
 * that still read or hash take the remaining buffers.
 */
enum scheduler_step
scheduler_next (struct scheduler *scheduler, struct buffer **buffer)
{
  enum scheduler_step step;
  SCOPED_LOCK (&scheduler->lock);

  while (!scheduler->stopped) {
    step = try_next_locked (scheduler, buffer);
    if (step != SCHEDULER_END) {
      wake_locked (scheduler);
      return step;
    }
    if (scheduler->ended)
      break;
    scheduler->waiting++;
    pthread_cond_wait (&scheduler->changed, &scheduler->lock);
    scheduler->waiting--;
  }
  return SCHEDULER_END;
}

bool
scheduler_needs_thread (struct scheduler *scheduler)
{
  SCOPED_LOCK (&scheduler->lock);

  return scheduler->waiting == 0 && !scheduler->stopped &&
    has_work_locked (scheduler);
}

/* ---- Read ---- */

static void
end_locked (struct scheduler *scheduler)
{
  scheduler->ended = true;
  pthread_cond_broadcast (&scheduler->changed);
}

static void
return_buffer (struct scheduler *scheduler, struct buffer *buffer)
{
  SCOPED_LOCK (&scheduler->lock);

  scheduler->reading--;
  buffers_free (&scheduler->buffers, buffer);
  end_locked (scheduler);
}

static void
shrink_buffer (struct scheduler *scheduler, struct buffer *buffer,
               unsigned copies)
{
  size_t kept = copies * ROUND_UP (buffer_data_len (buffer),
                                   (uint64_t) READ_ALIGN);

  SCOPED_LOCK (&scheduler->lock);

  if (kept < buffer->len) {
    buffers_shrink (&scheduler->buffers, buffer, kept);
    wake_locked (scheduler);
  }
}

bool
scheduler_next_ranges (struct scheduler *scheduler, void *worker,
                       struct buffer *buffer, unsigned copies)
{
  struct error error = { "" };
  int r = range_queue_next (&scheduler->range_queue, worker, buffer->ranges,
                            BUFFER_MAX_RANGES, buffer->len / copies,
                            &buffer->nr_ranges, &error);

  if (r == -1)
    scheduler_fail (scheduler, &error);
  if (r != 1) {
    return_buffer (scheduler, buffer);
    return false;
  }
  shrink_buffer (scheduler, buffer, copies);
  return true;
}

/* A worker that has read a buffer calls scheduler_next after this, and wakes
 * another worker there if there is more work.  A connection does not call
 * scheduler_next, so a worker is woken here.
 */
void
scheduler_queue (struct scheduler *scheduler, struct buffer *buffer)
{
  SCOPED_LOCK (&scheduler->lock);

  buffer_queue_push (&scheduler->queue, buffer);
  if (scheduler->bounds.reading > 0)
    scheduler->reading--;
  else
    wake_locked (scheduler);
}

/* ---- Hash ---- */

/* Report that BUFFER is done, and free it.  ERR is the result of adding it to
 * the table.  COUNT points to scheduler->reading or scheduler->hashing.
 */
static void
finish_buffer (struct scheduler *scheduler, struct buffer *buffer, int err,
               unsigned *count)
{
  const struct depth_read read = {
    .start = buffer->start, .end = clock_ns (), .waited = buffer->waited,
    .busy = buffer->busy, .len = buffer_data_len (buffer),
  };

  if (err)
    scheduler_fail_errno (scheduler, err, "cannot hash",
                          buffer->ranges[0].range.offset);
  for (unsigned i = 0; i < buffer->nr_ranges; i++)
    range_queue_done (&scheduler->range_queue, &buffer->ranges[i]);

  SCOPED_LOCK (&scheduler->lock);
  depth_read_done (&scheduler->depth, &read);
  buffers_free (&scheduler->buffers, buffer);
  --*count;
  if (scheduler->waiting_for_memory > 0)
    pthread_cond_broadcast (&scheduler->has_memory);
}

void
scheduler_add_zero (struct scheduler *scheduler, struct buffer *buffer)
{
  const struct range *range = &buffer->ranges[0].range;
  int err = scan_add_zero (scheduler->scan, range->len, range->offset);

  finish_buffer (scheduler, buffer, err, &scheduler->reading);
}

void
scheduler_hash (struct scheduler *scheduler, struct buffer *buffer)
{
  uint64_t start;
  int err;

  start = clock_ns ();
  err = buffer_add_data (buffer, scheduler->scan);
  buffer->busy += clock_ns () - start;
  finish_buffer (scheduler, buffer, err, &scheduler->hashing);
}

/* ---- Connections ---- */

struct buffer *
scheduler_try_get (struct scheduler *scheduler, size_t len)
{
  SCOPED_LOCK (&scheduler->lock);

  return scheduler->stopped ? NULL : get_locked (scheduler, len);
}

void
scheduler_wait_memory (struct scheduler *scheduler, size_t len)
{
  SCOPED_LOCK (&scheduler->lock);

  scheduler->waiting_for_memory++;
  while (!has_buffer_locked (scheduler, len) && !scheduler->stopped)
    pthread_cond_wait (&scheduler->has_memory, &scheduler->lock);
  scheduler->waiting_for_memory--;
}

struct buffer *
scheduler_try_hash (struct scheduler *scheduler)
{
  SCOPED_LOCK (&scheduler->lock);

  return !scheduler->stopped && can_hash_locked (scheduler) &&
    scheduler->queue.count > scheduler->waiting ? dequeue_locked (scheduler)
                                                : NULL;
}

unsigned
scheduler_depth (struct scheduler *scheduler)
{
  SCOPED_LOCK (&scheduler->lock);

  return scheduler->depth.limit;
}

/* ---- The end ---- */

void
scheduler_end (struct scheduler *scheduler)
{
  SCOPED_LOCK (&scheduler->lock);

  end_locked (scheduler);
}

void
scheduler_stop (struct scheduler *scheduler)
{
  {
    SCOPED_LOCK (&scheduler->lock);
    scheduler->stopped = true;
    pthread_cond_broadcast (&scheduler->changed);
    pthread_cond_broadcast (&scheduler->has_memory);
  }
  range_queue_stop (&scheduler->range_queue);
}

bool
scheduler_is_stopped (struct scheduler *scheduler)
{
  SCOPED_LOCK (&scheduler->lock);

  return scheduler->stopped;
}

void
scheduler_fail (struct scheduler *scheduler, const struct error *error)
{
  if (!scheduler_is_stopped (scheduler))
    scan_fail (scheduler->scan, error);
  scheduler_stop (scheduler);
}

void
scheduler_fail_errno (struct scheduler *scheduler, int err, const char *what,
                      uint64_t offset)
{
  struct error error = { "" };

  error_errno (&error, err, "%s at offset %llu", what,
               (unsigned long long) offset);
  scheduler_fail (scheduler, &error);
}
