/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The queue depth: how many reads to keep in flight.
 *
 * Storage that takes LATENCY for a read and can give RATE needs RATE * LATENCY
 * in flight, and more only makes the reads wait for each other.  Neither is
 * known, so the depth is raised for a round, and kept as far as the rate grew
 * with it.  A round is at least as many reads as the limit, one of which began
 * in it, so it is at least as long as a read, and long enough for a rate that
 * is more than noise.
 *
 *   STEADY  the rate at the limit is measured
 *   UP      the limit is several times as high.  If the rate grew by more than
 *           half as much, the limit stays, and is raised again at once.
 *   AGAIN   it did not: some of these reads began late, so another round is
 *           measured.  If the rate grew by less, in both, what is needed in
 *           flight lies between the two: the old limit times the gain; and a
 *           smaller probe follows.  If it did not grow, the limit is as before,
 *           and the next probe comes later.
 *   DRAIN   the limit is a quarter lower, but more is still in flight
 *   DOWN    the rate at it is measured.  If it is the same, the limit stays.
 *
 * Nothing is raised while the threads are busy, as they are when hashing is the
 * limit, or while reads do not wait: of what is in the page cache more reads in
 * flight win nothing, however little of a CPU the neighbours leave.  The lowest
 * limit is best for it.  A few reads that wait, for a lock or a page that is
 * missing, count only in two rounds one after the other.
 *
 * A stall of the storage spoils a round, which is left out.  Two slow rounds,
 * one after the other, are a storage that has changed, and the depth for it is
 * looked for at once.  A lower limit must come near the best rate there was, or
 * many small losses would become a large one.
 */

#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "../lib/common/numbers.h"
#include "read/depth.h"

#define MIN_ROUND (10 * 1000 * 1000) /* ns */
#define FIRST_GROWTH 4
#define GROWTH 2
#define MARGIN 1.25             /* of reads, over what is needed in flight */
#define GAIN 1.1                /* of the rate, which is more than noise */
#define SAME 0.95               /* of the rate, which is no loss */
#define WEIGHT 0.25             /* of a round in the mean rate */
#define DECAY 0.02              /* of the best rate in a round */
#define MIN_BACKOFF 4           /* rounds */
#define MAX_BACKOFF 256
#define SETTLING 2              /* rounds before the first probe */
#define IDLE 0.1                /* of the threads' time: they wait for data */
#define WAIT 0.3                /* of the time of reads and hashes */
#define NO_WAIT 0.05            /* of that time: they do not */
#define READ_COST (64 * 1024)   /* bytes: what a read of nothing costs */

void
depth_init (struct depth *depth, unsigned start, unsigned max,
            unsigned threads)
{
  *depth = (struct depth) {
    .limit = start, .min = start, .max = MAX (start, max), .threads = threads,
    .growth = FIRST_GROWTH, .up_backoff = MIN_BACKOFF,
    .down_in = MIN_BACKOFF, .down_backoff = MIN_BACKOFF,
  };
}

/* ---- For tests ---- */

#define MAX_RANDOM 64

void
depth_force (struct depth *depth, const char *value)
{
  bool is_random = strcmp (value, "random") == 0;
  int reads = is_random ? MAX_RANDOM : atoi (value);

  depth->limit = depth->forced = MAX (reads, 1);
  depth->seed = is_random;
}

static void
next_forced (struct depth *depth)
{
  if (depth->seed)
    depth->limit = 1 + rand_r (&depth->seed) % depth->forced;
}

/* ---- Probes ---- */

static void
start_probe (struct depth *depth, int phase, unsigned limit)
{
  depth->phase = phase;
  depth->base = depth->limit;
  depth->limit = limit;
}

/* The limit is LIMIT, where the rate is RATE; the next probes are due. */
static void
settle (struct depth *depth, unsigned limit, unsigned up_in)
{
  depth->phase = DEPTH_STEADY;
  depth->limit = limit;
  depth->up_in = up_in;
}

static void
set_rate (struct depth *depth, double rate)
{
  depth->rate = depth->best = rate;
}

static unsigned
back_off (unsigned *backoff)
{
  unsigned rounds = *backoff;

  *backoff = MIN (2 * rounds, MAX_BACKOFF);
  return rounds;
}

static void
raise (struct depth *depth)
{
  if (depth->limit < depth->max)
    start_probe (depth, DEPTH_UP,
                 MIN (depth->limit * depth->growth, depth->max));
}

static void
end_up (struct depth *depth, double rate, bool waits)
{
  double gain = rate / depth->rate;
  double growth = (double) depth->limit / depth->base;

  if (gain > 1 + (growth - 1) / 2) {
    set_rate (depth, rate);
    settle (depth, depth->limit, 0);
    if (waits)
      raise (depth);
    return;
  }
  if (depth->phase == DEPTH_UP) {
    depth->phase = DEPTH_AGAIN;
    depth->first_gain = gain;
    return;
  }
  gain = MIN (gain, depth->first_gain);
  depth->growth = GROWTH;
  if (gain > GAIN) {
    depth->up_backoff = MIN_BACKOFF;
    set_rate (depth, depth->rate * gain);
    settle (depth, MIN (depth->base * gain * MARGIN + 0.5, depth->limit), 1);
  }
  else
    settle (depth, depth->base, back_off (&depth->up_backoff));
}

static void
end_down (struct depth *depth, double rate)
{
  if (rate >= depth->best * SAME) {
    depth->down_backoff = MIN_BACKOFF;
    settle (depth, depth->limit, depth->up_backoff);
    depth->down_in = 1;
  }
  else {
    settle (depth, depth->base, depth->up_in);
    depth->down_in = back_off (&depth->down_backoff);
  }
}

/* ---- Rounds ---- */

/* Two in a row are a storage that has changed. */
static void
learn_rate (struct depth *depth, double rate)
{
  bool slow = rate < depth->rate / 2;

  if (slow && depth->was_slow) {
    set_rate (depth, rate);
    depth->up_in = 0;
    depth->up_backoff = MIN_BACKOFF;
    slow = false;
  }
  else if (!slow) {
    depth->rate += (rate - depth->rate) * (depth->rate > 0 ? WEIGHT : 1);
    depth->best += (depth->rate - depth->best) * DECAY;
    depth->best = MAX (depth->best, depth->rate);
  }
  depth->was_slow = slow;
}

/* Where a round is much longer than a read there is time to measure well. */
static void
take_time (struct depth *depth)
{
  if (depth->rate == 0 && depth->round.reads >= 2 * depth->limit) {
    depth->growth = GROWTH;
    depth->up_in = SETTLING;
  }
}

static void
end_steady (struct depth *depth, double rate)
{
  take_time (depth);
  learn_rate (depth, rate);
  if (depth->was_slow)
    return;
  if (depth->up_in == 0)
    raise (depth);
  else if (depth->down_in == 0 && depth->limit > depth->min)
    start_probe (depth, DEPTH_DRAIN,
                 MAX (depth->limit - (depth->limit + 3) / 4, depth->min));
  if (depth->up_in > 0)
    depth->up_in--;
  if (depth->down_in > 0)
    depth->down_in--;
}

static void
end_round (struct depth *depth, uint64_t now)
{
  const struct depth_round *round = &depth->round;
  double length = now - round->start;
  double rate = round->work / length;
  double used = (double) round->waited + round->busy;
  bool idle = round->busy < depth->threads * length * (1 - IDLE);
  bool has_waits = idle && round->waited > used * WAIT;
  bool waits = has_waits &&
    (depth->had_waits || 2 * round->slow > round->reads);

  if (depth->phase == DEPTH_UP || depth->phase == DEPTH_AGAIN)
    end_up (depth, rate, waits);
  else if (depth->phase == DEPTH_DRAIN)
    depth->phase = DEPTH_DOWN;
  else if (depth->phase == DEPTH_DOWN)
    end_down (depth, rate);
  else if (waits)
    end_steady (depth, rate);
  else if (round->waited < used * NO_WAIT && depth->limit > depth->min)
    settle (depth, depth->min, back_off (&depth->up_backoff));
  depth->had_waits = has_waits;
  depth->round = (struct depth_round) { .start = now };
}

void
depth_read_done (struct depth *depth, const struct depth_read *read)
{
  struct depth_round *round = &depth->round;

  if (depth->forced) {
    next_forced (depth);
    return;
  }
  if (round->start == 0)
    round->start = read->start;
  round->work += read->len + READ_COST;
  round->waited += read->waited;
  round->busy += read->busy;
  round->reads++;
  round->slow += read->waited > read->busy;
  if (read->start >= round->start && round->reads >= depth->limit &&
      read->end - round->start >= MIN_ROUND)
    end_round (depth, read->end);
}
