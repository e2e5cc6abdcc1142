/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the leaves of two images meet, block by block, as they come.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "../lib/cleanup.h"
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

static bool
has_room_locked (struct meet *meet)
{
  size_t room = meet->room ? 2 * meet->room : 64;
  struct meet_range *ranges;

  if (meet->nr_ranges < meet->room)
    return true;
  ranges = realloc (meet->ranges, room * sizeof *ranges);
  if (!ranges)
    return false;
  meet->ranges = ranges;
  meet->room = room;
  return true;
}

static void
add_range_locked (struct meet *meet, uint64_t first, uint64_t count)
{
  struct meet_range *last =
    meet->nr_ranges ? &meet->ranges[meet->nr_ranges - 1] : NULL;

  if (last && last->first + last->count == first)
    last->count += count;
  else if (has_room_locked (meet))
    meet->ranges[meet->nr_ranges++] =
      (struct meet_range) { .first = first, .count = count };
  else
    fail_locked (meet, ENOMEM);
}

static int
differ_locked (void *opaque, uint64_t first, uint64_t count)
{
  struct meet *meet = opaque;

  meet->differ = true;
  add_range_locked (meet, first, count);
  if (meet->only_whether)
    stop_locked (meet);
  return meet->stopped;
}

static int
may_differ_locked (void *opaque, uint64_t tail)
{
  struct meet *meet = opaque;

  meet->tail_unknown = true;
  add_range_locked (meet, tail, 1);
  return meet->stopped;
}

/* ---- Two runs ---- */

void
meet_init (struct meet *meet, size_t leaf_size, uint64_t tail,
           bool only_whether)
{
  *meet = (struct meet) {
    .diff = {
      .leaf_size = leaf_size, .tail = tail, .differ = differ_locked,
      .may_differ = may_differ_locked, .opaque = meet
    },
    .only_whether = only_whether
  };
  pthread_mutex_init (&meet->lock, NULL);
  pthread_cond_init (&meet->changed, NULL);
}

void
meet_destroy (struct meet *meet)
{
  free (meet->ranges);
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
