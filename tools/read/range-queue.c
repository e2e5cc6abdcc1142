/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A queue of ranges, for many threads.
 */

#include <config.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "read/range-queue.h"
#include "read/scan.h"
#include "util/error.h"

#define ZERO_STEPS 256          /* number of steps for a large hole */
#define MIN_ZEROS 65536         /* minimum number of blocks of a step */

void
range_queue_init (struct range_queue *queue, struct scan *scan,
                  next_range_function next_range, size_t memory)
{
  *queue = (struct range_queue) { .scan = scan, .next_range = next_range };
  window_init (&queue->window, scan->block_size, memory);
  pthread_mutex_init (&queue->turn, NULL);
  pthread_mutex_init (&queue->lock, NULL);
  pthread_cond_init (&queue->has_advanced, NULL);
}

void
range_queue_destroy (struct range_queue *queue)
{
  pthread_cond_destroy (&queue->has_advanced);
  pthread_mutex_destroy (&queue->lock);
  pthread_mutex_destroy (&queue->turn);
}

uint64_t
range_queue_max_range (const struct range_queue *queue, unsigned count)
{
  return window_max_range (&queue->window, count);
}

/* ---- The window ---- */

static void
wait_locked (struct range_queue *queue)
{
  while (!window_is_open (&queue->window) && !queue->stopped)
    pthread_cond_wait (&queue->has_advanced, &queue->lock);
}

void
range_queue_wait (struct range_queue *queue)
{
  SCOPED_LOCK (&queue->lock);

  wait_locked (queue);
}

/* Returns 1 if a range may be taken, 0 if the queue was stopped, or -1 if
 * ranges must be hashed first.
 */
static int
can_take (struct range_queue *queue, bool wait)
{
  SCOPED_LOCK (&queue->lock);

  if (wait)
    wait_locked (queue);
  if (queue->stopped)
    return 0;
  return window_is_open (&queue->window) ? 1 : -1;
}

/* ---- Ranges ---- */

/* Take the next range, data or zero.  Returns the same as range_queue_next if
 * WAIT is set; otherwise the same as range_queue_try_next.
 */
static int
take (struct range_queue *queue, void *worker, bool wait,
      struct taken_range *range, struct error *error)
{
  int r;
  SCOPED_LOCK (&queue->turn);

  range->range.len = 0;
  r = can_take (queue, wait);
  if (r != 1)
    return r == -1 ? 1 : 0;
  r = queue->next_range (worker, &range->range, error);
  if (r == 1 && scan_ends_before (queue->scan, range->range.offset))
    r = 0;
  if (r == -1)
    return -1;

  SCOPED_LOCK (&queue->lock);
  if (r == 0)
    queue->ended = true;
  else {
    window_take (&queue->window, &range->item, &range->range);
    queue->end = range->range.offset + range->range.len;
  }
  return r;
}

static void
leave_window (struct range_queue *queue, struct taken_range *range)
{
  SCOPED_LOCK (&queue->lock);
  bool was_open = window_is_open (&queue->window);

  window_done (&queue->window, &range->item);
  if (!was_open)
    pthread_cond_broadcast (&queue->has_advanced);
}

/* Returns how many bytes of RANGE to add in one step.  Hashing a large hole
 * takes long, so it is divided to show progress.
 */
static uint64_t
zeros_step (const struct range_queue *queue, const struct range *range)
{
  uint64_t block_size = queue->scan->block_size;
  uint64_t blocks = range->len / block_size / ZERO_STEPS + 1;

  return block_size * (blocks > MIN_ZEROS ? blocks : MIN_ZEROS);
}

static int
add_zeros (struct range_queue *queue, struct taken_range *zeros,
           struct error *error)
{
  struct range range = zeros->range;
  uint64_t step = zeros_step (queue, &range);
  int err = 0;

  while (range.len > 0 && err == 0) {
    uint64_t len = MIN (range.len, step);

    err = scan_add_zero (queue->scan, len, range.offset);
    scan_count (queue->scan, len, true);
    range.offset += len;
    range.len -= len;
  }
  if (err) {
    error_errno (error, err, "cannot hash at offset %llu",
                 (unsigned long long) zeros->range.offset);
    /* Before the window shows that all was hashed: range_queue_is_done. */
    scan_fail (queue->scan, error);
  }
  leave_window (queue, zeros);
  return err ? -1 : 0;
}

static int
next (struct range_queue *queue, void *worker, bool wait,
      struct taken_range *range, struct error *error)
{
  int r;

  do
    r = take (queue, worker, wait, range, error);
  while (r == 1 && range->range.len > 0 && range->range.zero &&
         (r = add_zeros (queue, range, error)) == 0);
  return r;
}

int
range_queue_next (struct range_queue *queue, void *worker,
                  struct taken_range *range, struct error *error)
{
  return next (queue, worker, true, range, error);
}

int
range_queue_try_next (struct range_queue *queue, void *worker,
                      struct taken_range *range, struct error *error)
{
  return next (queue, worker, false, range, error);
}

void
range_queue_move (struct range_queue *queue, struct taken_range *from,
                  struct taken_range *to)
{
  SCOPED_LOCK (&queue->lock);

  to->range = from->range;
  window_move (&queue->window, &from->item, &to->item);
}

void
range_queue_done (struct range_queue *queue, struct taken_range *range)
{
  leave_window (queue, range);
  scan_count (queue->scan, range->range.len, false);
}

/* Returns the offset before which all is hashed; UINT64_MAX if the whole image
 * is.
 */
static uint64_t
hashed_until_locked (const struct range_queue *queue)
{
  if (queue->window.first)
    return queue->window.first->offset;
  return queue->ended ? UINT64_MAX : queue->end;
}

bool
range_queue_is_done (struct range_queue *queue)
{
  SCOPED_LOCK (&queue->lock);

  return scan_ends_before (queue->scan, hashed_until_locked (queue));
}

void
range_queue_stop (struct range_queue *queue)
{
  SCOPED_LOCK (&queue->lock);

  queue->stopped = true;
  pthread_cond_broadcast (&queue->has_advanced);
}
