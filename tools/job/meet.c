/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the leaves of two images meet, block by block, as they come.
 */

#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/cleanup.h"
#include "job/meet.h"

void
meet_init (struct meet *meet, size_t leaf_size, uint64_t tail,
           bool only_whether)
{
  *meet = (struct meet) {
    .leaf_size = leaf_size, .tail = tail, .only_whether = only_whether
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
  struct meet_run *ranges;

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
  struct meet_run *last =
    meet->nr_ranges ? &meet->ranges[meet->nr_ranges - 1] : NULL;

  if (last && last->first + last->count == first)
    last->count += count;
  else if (has_room_locked (meet))
    meet->ranges[meet->nr_ranges++] =
      (struct meet_run) { .first = first, .count = count };
  else
    fail_locked (meet, ENOMEM);
}

static void
differ_locked (struct meet *meet, uint64_t first, uint64_t count)
{
  meet->differ = true;
  add_range_locked (meet, first, count);
  if (meet->only_whether)
    stop_locked (meet);
}

static void
may_differ_locked (struct meet *meet, uint64_t block)
{
  meet->tail_unknown = true;
  add_range_locked (meet, block, 1);
}

/* COUNT blocks of data of both. */
static void
compare_data_locked (struct meet *meet, const struct meet_run *a,
                     const struct meet_run *b, uint64_t count)
{
  uint64_t i;

  if (memcmp (a->leaves, b->leaves, count * meet->leaf_size) == 0)
    return;
  for (i = 0; i < count && !meet->stopped; i++) {
    if (memcmp (a->leaves + i * meet->leaf_size,
                b->leaves + i * meet->leaf_size, meet->leaf_size) == 0)
      continue;
    if (a->first + i == meet->tail)
      may_differ_locked (meet, a->first + i);
    else
      differ_locked (meet, a->first + i, 1);
  }
}

/* ---- Two runs ---- */

static void
skip (struct meet *meet, struct meet_run *run, uint64_t count)
{
  run->first += count;
  run->count -= count;
  if (run->leaves)
    run->leaves += count * meet->leaf_size;
}

/* Compare what both have; at least one of them has nothing left then. */
static void
compare_locked (struct meet *meet, struct meet_run *a, struct meet_run *b)
{
  uint64_t count = a->count < b->count ? a->count : b->count;

  if (a->leaves && b->leaves)
    compare_data_locked (meet, a, b, count);
  else if (a->leaves || b->leaves)
    differ_locked (meet, a->first, count);
  skip (meet, a, count);
  skip (meet, b, count);
  pthread_cond_broadcast (&meet->changed);
}

/* The other image is zero here, as it were. */
static void
compare_alone_locked (struct meet *meet, struct meet_run *run)
{
  if (run->leaves)
    differ_locked (meet, run->first, run->count);
  skip (meet, run, run->count);
}

int
meet_blocks (struct meet *meet, int side, const struct meet_run *run)
{
  struct meet_side *us = &meet->side[side], *others = &meet->side[!side];
  SCOPED_LOCK (&meet->lock);

  us->run = *run;
  while (us->run.count > 0 && !meet->stopped)
    if (others->run.count > 0)
      compare_locked (meet, &us->run, &others->run);
    else if (others->ended)
      compare_alone_locked (meet, &us->run);
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
