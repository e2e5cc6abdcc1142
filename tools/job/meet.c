/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the leaves of two images meet, block by block, as they come.
 */

#include <config.h>

#include <errno.h>

#include "../lib/common/cleanup.h"
#include "job/meet.h"

static void
stop_locked (struct meet *meet)
{
  meet->stopped = true;
  pthread_cond_broadcast (&meet->changed);
}

static void
fail_locked (struct meet *meet, int err)
{
  meet->error = err;
  stop_locked (meet);
}

/* ---- What differs ---- */

static void
tell_locked (struct meet *meet)
{
  int err = meet->tell (meet->opaque, &meet->range);

  if (err)
    fail_locked (meet, err);
}

static void
add_range_locked (struct meet *meet, uint64_t first, uint64_t count)
{
  struct meet_range *range = &meet->range;

  if (range->count > 0 && range->first + range->count == first)
    range->count += count;
  else {
    if (range->count > 0)
      tell_locked (meet);
    *range = (struct meet_range) { .first = first, .count = count };
  }
}

static int
differ_locked (void *opaque, uint64_t first, uint64_t count)
{
  struct meet *meet = opaque;

  meet->differ = true;
  if (meet->tell)
    add_range_locked (meet, first, count);
  else
    stop_locked (meet);
  return meet->stopped;
}

static int
may_differ_locked (void *opaque, uint64_t tail)
{
  struct meet *meet = opaque;

  meet->tail_unknown = true;
  if (meet->tell)
    add_range_locked (meet, tail, 1);
  return meet->stopped;
}

/* ---- Two runs ---- */

void
meet_init (struct meet *meet, uint64_t tail,
           int (*tell) (void *opaque, const struct meet_range *range),
           void *opaque)
{
  *meet = (struct meet) {
    .diff = {
      .tail = tail, .differ = differ_locked, .may_differ = may_differ_locked,
      .opaque = meet
    },
    .tell = tell, .opaque = opaque
  };
  pthread_mutex_init (&meet->lock, NULL);
  pthread_cond_init (&meet->changed, NULL);
}

void
meet_destroy (struct meet *meet)
{
  pthread_cond_destroy (&meet->changed);
  pthread_mutex_destroy (&meet->lock);
}

int
meet_blocks (struct meet *meet, int side,
             const struct blkhash_manifest_run *run)
{
  struct meet_side *us = &meet->side[side], *others = &meet->side[!side];
  SCOPED_LOCK (&meet->lock);

  us->run = *run;
  while (us->run.count > 0 && !meet->stopped)
    if (others->run.count > 0) {
      leaf_diff_both (&meet->diff, &us->run, &others->run);
      pthread_cond_broadcast (&meet->changed);
    }
    else if (others->ended)
      leaf_diff_alone (&meet->diff, &us->run);
    else
      pthread_cond_wait (&meet->changed, &meet->lock);
  us->run.count = 0;
  if (meet->error)
    return meet->error;
  return meet->stopped ? ECANCELED : 0;
}

void
meet_end (struct meet *meet, int side)
{
  SCOPED_LOCK (&meet->lock);

  meet->side[side].ended = true;
  pthread_cond_broadcast (&meet->changed);
}

bool
meet_stop (struct meet *meet)
{
  SCOPED_LOCK (&meet->lock);
  bool first = !meet->stopped;

  stop_locked (meet);
  return first;
}

bool
meet_is_stopped (struct meet *meet)
{
  SCOPED_LOCK (&meet->lock);

  return meet->stopped;
}

int
meet_tell_last (struct meet *meet)
{
  SCOPED_LOCK (&meet->lock);

  if (meet->range.count > 0 && !meet->error)
    tell_locked (meet);
  meet->range.count = 0;
  return meet->error;
}
