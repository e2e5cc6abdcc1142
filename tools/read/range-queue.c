/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A range scheduler for many threads.
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
dispatcher_init (struct dispatcher *dispatcher, struct scan *scan,
                 next_range_function next_range, size_t memory)
{
  *dispatcher = (struct dispatcher) { .scan = scan, .next_range = next_range };
  window_init (&dispatcher->window, scan->block_size, memory);
  pthread_mutex_init (&dispatcher->turn, NULL);
  pthread_mutex_init (&dispatcher->lock, NULL);
  pthread_cond_init (&dispatcher->has_advanced, NULL);
}

void
dispatcher_destroy (struct dispatcher *dispatcher)
{
  pthread_cond_destroy (&dispatcher->has_advanced);
  pthread_mutex_destroy (&dispatcher->lock);
  pthread_mutex_destroy (&dispatcher->turn);
}

uint64_t
dispatcher_max_range (const struct dispatcher *dispatcher, unsigned count)
{
  return window_max_range (&dispatcher->window, count);
}

/* ---- The window ---- */

static void
wait_locked (struct dispatcher *dispatcher)
{
  while (!window_is_open (&dispatcher->window) && !dispatcher->stopped)
    pthread_cond_wait (&dispatcher->has_advanced, &dispatcher->lock);
}

void
dispatcher_wait (struct dispatcher *dispatcher)
{
  SCOPED_LOCK (&dispatcher->lock);

  wait_locked (dispatcher);
}

/* Returns 1 if a range may be taken, 0 if the dispatcher was stopped, or -1 if
 * ranges must be hashed first.
 */
static int
can_dispatch (struct dispatcher *dispatcher, bool wait)
{
  SCOPED_LOCK (&dispatcher->lock);

  if (wait)
    wait_locked (dispatcher);
  if (dispatcher->stopped)
    return 0;
  return window_is_open (&dispatcher->window) ? 1 : -1;
}

/* ---- Ranges ---- */

/* Take the next range, data or zero.  Returns the same as dispatcher_next if
 * WAIT is set; otherwise the same as dispatcher_try_next.
 */
static int
dispatch (struct dispatcher *dispatcher, void *worker, bool wait,
          struct dispatched_range *range, struct error *error)
{
  int r;
  SCOPED_LOCK (&dispatcher->turn);

  range->range.len = 0;
  r = can_dispatch (dispatcher, wait);
  if (r != 1)
    return r == -1 ? 1 : 0;
  r = dispatcher->next_range (worker, &range->range, error);
  if (r == 1 && scan_ends_before (dispatcher->scan, range->range.offset))
    r = 0;
  if (r == -1)
    return -1;

  SCOPED_LOCK (&dispatcher->lock);
  if (r == 0)
    dispatcher->ended = true;
  else {
    window_take (&dispatcher->window, &range->item, &range->range);
    dispatcher->end = range->range.offset + range->range.len;
  }
  return r;
}

static void
leave_window (struct dispatcher *dispatcher, struct dispatched_range *range)
{
  SCOPED_LOCK (&dispatcher->lock);
  bool was_open = window_is_open (&dispatcher->window);

  window_done (&dispatcher->window, &range->item);
  if (!was_open)
    pthread_cond_broadcast (&dispatcher->has_advanced);
}

/* Returns how many bytes of RANGE to add in one step.  Hashing a large hole
 * takes long, so it is divided to show progress.
 */
static uint64_t
zeros_step (const struct dispatcher *dispatcher, const struct range *range)
{
  uint64_t block_size = dispatcher->scan->block_size;
  uint64_t blocks = range->len / block_size / ZERO_STEPS + 1;

  return block_size * (blocks > MIN_ZEROS ? blocks : MIN_ZEROS);
}

static int
add_zeros (struct dispatcher *dispatcher, struct dispatched_range *zeros,
           struct error *error)
{
  struct range range = zeros->range;
  uint64_t step = zeros_step (dispatcher, &range);
  int err = 0;

  while (range.len > 0 && err == 0) {
    uint64_t len = MIN (range.len, step);

    err = scan_add_zero (dispatcher->scan, len, range.offset);
    scan_count (dispatcher->scan, len, true);
    range.offset += len;
    range.len -= len;
  }
  if (err) {
    error_errno (error, err, "cannot hash at offset %llu",
                 (unsigned long long) zeros->range.offset);
    /* Before the window shows that all was hashed: dispatcher_is_done. */
    scan_fail (dispatcher->scan, error);
  }
  leave_window (dispatcher, zeros);
  return err ? -1 : 0;
}

static int
next (struct dispatcher *dispatcher, void *worker, bool wait,
      struct dispatched_range *range, struct error *error)
{
  int r;

  do
    r = dispatch (dispatcher, worker, wait, range, error);
  while (r == 1 && range->range.len > 0 && range->range.zero &&
         (r = add_zeros (dispatcher, range, error)) == 0);
  return r;
}

int
dispatcher_next (struct dispatcher *dispatcher, void *worker,
                 struct dispatched_range *range, struct error *error)
{
  return next (dispatcher, worker, true, range, error);
}

int
dispatcher_try_next (struct dispatcher *dispatcher, void *worker,
                     struct dispatched_range *range, struct error *error)
{
  return next (dispatcher, worker, false, range, error);
}

void
dispatcher_move (struct dispatcher *dispatcher, struct dispatched_range *from,
                 struct dispatched_range *to)
{
  SCOPED_LOCK (&dispatcher->lock);

  to->range = from->range;
  window_move (&dispatcher->window, &from->item, &to->item);
}

void
dispatcher_done (struct dispatcher *dispatcher, struct dispatched_range *range)
{
  leave_window (dispatcher, range);
  scan_count (dispatcher->scan, range->range.len, false);
}

/* Returns the offset before which all is hashed; UINT64_MAX if the whole image
 * is.
 */
static uint64_t
hashed_until_locked (const struct dispatcher *dispatcher)
{
  if (dispatcher->window.first)
    return dispatcher->window.first->offset;
  return dispatcher->ended ? UINT64_MAX : dispatcher->end;
}

bool
dispatcher_is_done (struct dispatcher *dispatcher)
{
  SCOPED_LOCK (&dispatcher->lock);

  return scan_ends_before (dispatcher->scan, hashed_until_locked (dispatcher));
}

void
dispatcher_stop (struct dispatcher *dispatcher)
{
  SCOPED_LOCK (&dispatcher->lock);

  dispatcher->stopped = true;
  pthread_cond_broadcast (&dispatcher->has_advanced);
}
