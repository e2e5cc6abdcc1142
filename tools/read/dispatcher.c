/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A range scheduler for many threads.
 */

#include <config.h>

#include "../lib/common/cleanup.h"
#include "../lib/common/numbers.h"
#include "read/dispatcher.h"
#include "read/scan.h"
#include "util/error.h"

#define ZERO_STEPS 256          /* steps for a large hole */
#define MIN_ZEROS 65536         /* blocks of a step */

void
walk_init (struct walk *walk, struct scan *scan, take_function take)
{
  *walk = (struct walk) { .scan = scan, .take = take };
  window_init (&walk->window, scan->block_size);
  pthread_mutex_init (&walk->turn, NULL);
  pthread_mutex_init (&walk->lock, NULL);
  pthread_cond_init (&walk->has_advanced, NULL);
}

void
walk_destroy (struct walk *walk)
{
  pthread_cond_destroy (&walk->has_advanced);
  pthread_mutex_destroy (&walk->lock);
  pthread_mutex_destroy (&walk->turn);
}

uint64_t
walk_max_range (const struct walk *walk, unsigned count)
{
  return window_max_range (&walk->window, count);
}

/* ---- The window ---- */

static void
wait_locked (struct walk *walk)
{
  while (!window_is_open (&walk->window) && !walk->stopped)
    pthread_cond_wait (&walk->has_advanced, &walk->lock);
}

void
walk_wait (struct walk *walk)
{
  SCOPED_LOCK (&walk->lock);

  wait_locked (walk);
}

/* Returns 1 if a range may be taken, 0 if the walk was stopped, or -1 if ranges
 * have to be hashed first.
 */
static int
may_take (struct walk *walk, bool wait)
{
  SCOPED_LOCK (&walk->lock);

  if (wait)
    wait_locked (walk);
  if (walk->stopped)
    return 0;
  return window_is_open (&walk->window) ? 1 : -1;
}

/* ---- Ranges ---- */

/* Take the next range, data or zero.  Returns like walk_next if WAIT is set, or
 * like walk_try_next.
 */
static int
take (struct walk *walk, void *taker, bool wait, struct walk_range *range,
      struct error *error)
{
  int r;
  SCOPED_LOCK (&walk->turn);

  range->range.len = 0;
  r = may_take (walk, wait);
  if (r != 1)
    return r == -1 ? 1 : 0;
  r = walk->take (taker, &range->range, error);
  if (r != 1)
    return r;
  if (scan_ends_before (walk->scan, range->range.offset))
    return 0;

  SCOPED_LOCK (&walk->lock);
  window_take (&walk->window, &range->item, &range->range);
  return 1;
}

static void
leave_window (struct walk *walk, struct walk_range *range)
{
  SCOPED_LOCK (&walk->lock);
  bool was_open = window_is_open (&walk->window);

  window_done (&walk->window, &range->item);
  if (!was_open)
    pthread_cond_broadcast (&walk->has_advanced);
}

/* Returns how many bytes of RANGE to add at once.  Hashing a large hole takes
 * long as well, so it is split to show progress.
 */
static uint64_t
zeros_at_once (const struct walk *walk, const struct range *range)
{
  uint64_t block_size = walk->scan->block_size;
  uint64_t blocks = range->len / block_size / ZERO_STEPS + 1;

  return block_size * (blocks > MIN_ZEROS ? blocks : MIN_ZEROS);
}

static int
put_zeros (struct walk *walk, struct walk_range *zeros, struct error *error)
{
  struct range range = zeros->range;
  uint64_t at_once = zeros_at_once (walk, &range);
  int err = 0;

  while (range.len > 0 && err == 0) {
    uint64_t len = MIN (range.len, at_once);

    err = scan_add_zero (walk->scan, len, range.offset);
    scan_count (walk->scan, len, true);
    range.offset += len;
    range.len -= len;
  }
  if (err)
    error_errno (error, err, "cannot hash at offset %llu",
                 (unsigned long long) zeros->range.offset);
  leave_window (walk, zeros);
  return err ? -1 : 0;
}

static int
next (struct walk *walk, void *taker, bool wait, struct walk_range *range,
      struct error *error)
{
  int r;

  do
    r = take (walk, taker, wait, range, error);
  while (r == 1 && range->range.len > 0 && range->range.zero &&
         (r = put_zeros (walk, range, error)) == 0);
  return r;
}

int
walk_next (struct walk *walk, void *taker, struct walk_range *range,
           struct error *error)
{
  return next (walk, taker, true, range, error);
}

int
walk_try_next (struct walk *walk, void *taker, struct walk_range *range,
               struct error *error)
{
  return next (walk, taker, false, range, error);
}

void
walk_move (struct walk *walk, struct walk_range *from, struct walk_range *to)
{
  SCOPED_LOCK (&walk->lock);

  to->range = from->range;
  window_move (&walk->window, &from->item, &to->item);
}

void
walk_done (struct walk *walk, struct walk_range *range)
{
  leave_window (walk, range);
  scan_count (walk->scan, range->range.len, false);
}

void
walk_stop (struct walk *walk)
{
  SCOPED_LOCK (&walk->lock);

  walk->stopped = true;
  pthread_cond_broadcast (&walk->has_advanced);
}
