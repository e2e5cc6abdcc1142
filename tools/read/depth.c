/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Storage with a latency and a maximum rate needs rate * latency bytes in
 * flight.  With more, reads only wait for each other.  Latency and rate are
 * unknown, so the limit is changed as a probe: a higher limit is kept if the
 * rate grows, and a lower one if the rate does not fall.  The rate is measured
 * in rounds.  A round lasts at least MIN_ROUND, has at least as many reads as
 * the limit, and ends with a read that began in it, so it is at least as long
 * as that read.
 *
 * The phases are:
 *
 *   STEADY   The rate at the limit is measured.
 *   UP       The limit is several times as high.  If the growth of the rate, in
 *            percent, was more than half the growth of the limit, the limit is
 *            kept, and raised again if reads still wait.
 *   CONFIRM  In UP the rate grew by less.  The round of UP began with the old
 *            number of reads in flight, so another round is measured.  If the
 *            rate grew enough in this round, the limit is kept, as in UP.  If
 *            it grew in both rounds, but not enough, the required depth is
 *            between the old and the raised limit: the new limit is the old one
 *            times the smaller gain of the rate, plus a margin, and a smaller
 *            probe follows.  Otherwise the old limit is restored, and the next
 *            probe is delayed.
 *   DRAIN    The limit was lowered, but more reads are still in flight.  They
 *            end in quick succession, so the rate is ignored.  STEADY follows.
 *   DRAIN_DOWN  The same for a limit that is a quarter lower.  DOWN follows.
 *   DOWN     The rate at the lower limit is measured.  The lower limit is kept
 *            if this rate is near the best rate so far.  It is not compared
 *            with the rate at the old limit, because many small losses would
 *            add up.
 *
 * Reads wait if threads spend much of their time waiting for the device or the
 * server, and are not busy.  Otherwise hashing is the bottleneck, and no higher
 * limit is probed.  If reads do not wait at all, because the data is in the
 * page cache, the limit is lowered to the minimum.  If only a few reads wait,
 * for a lock or a missing page, that counts only in two consecutive rounds.
 *
 * In STEADY a round with less than half of the mean rate is ignored, because
 * the storage may have stalled.  Two consecutive rounds of this kind mean that
 * the storage has changed: a probe starts immediately.
 */

#include <config.h>

#include "../lib/common/util.h"
#include "read/depth.h"

#define MIN_ROUND (10 * 1000 * 1000) /* minimum length of a round, ns */
#define FIRST_GROWTH 4          /* factor on the limit in a probe, at first */
#define SLOW_GROWTH 16          /* the same if the storage serves reads in
                                 * parallel, and they wait longer than
                                 * MIN_ROUND: each probe takes long */
#define PARALLEL 1.2            /* reads that start together are served in
                                 * parallel if all of them end within this
                                 * factor of their mean wait; for N serialized
                                 * reads it is 2N/(N+1), at least 1.33 */
#define GROWTH 2                /* the factor after a probe without enough
                                 * gain, or if reads are short */
#define MARGIN 1.25             /* factor on the required depth */
#define GAIN 1.1                /* from this factor on, a rate has grown */
#define SAME 0.95               /* a lower limit is kept if its rate is at least
                                 * this factor of the best rate */
#define WEIGHT 0.25             /* weight of a round in the mean rate */
#define DECAY 0.02              /* how much the best rate approaches the mean
                                 * rate in each round */
#define MIN_BACKOFF 4           /* rounds */
#define MAX_BACKOFF 256
#define PROBE_DELAY 2           /* rounds before the first probe, if reads are
                                 * short */
#define IDLE 0.1                /* threads are not busy if more than this share
                                 * of their time is idle */
#define WAIT 0.3                /* reads wait if waits take more than this share
                                 * of the time of reads and hashing */
#define NO_WAIT 0.05            /* with a smaller share, reads do not wait */
#define READ_COST (64 * 1024)   /* bytes: the fixed cost of a read */

void
depth_init (struct depth *depth, unsigned start, unsigned max,
            unsigned threads)
{
  *depth = (struct depth) {
    .limit = start, .min = start, .max = MAX (start, max), .threads = threads,
    .up_backoff = MIN_BACKOFF,
    .down_in = MIN_BACKOFF, .down_backoff = MIN_BACKOFF,
  };
}

/* ---- Probes ---- */

static void
start_probe (struct depth *depth, int phase, unsigned limit)
{
  depth->phase = phase;
  depth->base = depth->limit;
  depth->limit = limit;
}

/* Set the limit to LIMIT.  A higher limit is probed after UP_IN rounds. */
static void
set_steady (struct depth *depth, unsigned limit, unsigned up_in)
{
  depth->phase = limit < depth->limit ? DEPTH_DRAIN : DEPTH_STEADY;
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
start_up_probe (struct depth *depth)
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
    set_steady (depth, depth->limit, 0);
    if (waits)
      start_up_probe (depth);
    return;
  }
  if (depth->phase == DEPTH_UP) {
    depth->phase = DEPTH_CONFIRM;
    depth->first_gain = gain;
    return;
  }
  gain = MIN (gain, depth->first_gain);
  depth->growth = GROWTH;
  if (gain > GAIN) {
    depth->up_backoff = MIN_BACKOFF;
    set_rate (depth, depth->rate * gain);
    set_steady (depth, MIN (depth->base * gain * MARGIN + 0.5, depth->limit),
                1);
  }
  else
    set_steady (depth, depth->base, back_off (&depth->up_backoff));
}

static void
end_down (struct depth *depth, double rate)
{
  if (rate >= depth->best * SAME) {
    depth->down_backoff = MIN_BACKOFF;
    set_steady (depth, depth->limit, depth->up_backoff);
    depth->down_in = 1;
  }
  else {
    set_steady (depth, depth->base, depth->up_in);
    depth->down_in = back_off (&depth->down_backoff);
  }
}

/* ---- Rounds ---- */

/* Update the mean rate and the best rate.  A single slow round is ignored; two
 * consecutive ones mean that the storage has changed.
 */
static void
update_rate (struct depth *depth, double rate)
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

/* If the first round with waits is much longer than a read, there is time for a
 * good measurement before the first probe, which is then smaller.
 */
static void
delay_probe (struct depth *depth)
{
  if (depth->rate == 0 && depth->round.reads >= 2 * depth->limit) {
    depth->growth = GROWTH;
    depth->up_in = PROBE_DELAY;
  }
}

static void
end_steady (struct depth *depth, double rate)
{
  delay_probe (depth);
  update_rate (depth, rate);
  if (depth->was_slow)
    return;
  if (depth->up_in == 0)
    start_up_probe (depth);
  else if (depth->down_in == 0 && depth->limit > depth->min)
    start_probe (depth, DEPTH_DRAIN_DOWN,
                 MAX (depth->limit - (depth->limit + 3) / 4, depth->min));
  if (depth->up_in > 0)
    depth->up_in--;
  if (depth->down_in > 0)
    depth->down_in--;
}

/* Select the size of the first probe, after the first round, of LENGTH ns.
 * Only in this round do all reads start together.
 */
static void
end_first_round (struct depth *depth, double length)
{
  unsigned reads = depth->round.reads;
  double waited = (double) depth->round.waited / reads;
  bool parallel = reads > 1 && length < PARALLEL * waited;

  depth->growth = parallel && waited > MIN_ROUND ? SLOW_GROWTH : FIRST_GROWTH;
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

  if (depth->growth == 0)
    end_first_round (depth, length);
  if (depth->phase == DEPTH_UP || depth->phase == DEPTH_CONFIRM)
    end_up (depth, rate, waits);
  else if (depth->phase == DEPTH_DRAIN)
    depth->phase = DEPTH_STEADY;
  else if (depth->phase == DEPTH_DRAIN_DOWN)
    depth->phase = DEPTH_DOWN;
  else if (depth->phase == DEPTH_DOWN)
    end_down (depth, rate);
  else if (waits)
    end_steady (depth, rate);
  else if (round->waited < used * NO_WAIT && depth->limit > depth->min)
    set_steady (depth, depth->min, back_off (&depth->up_backoff));
  depth->had_waits = has_waits;
  depth->round = (struct depth_round) { .start = now };
}

void
depth_read_done (struct depth *depth, const struct depth_read *read)
{
  struct depth_round *round = &depth->round;

  /* The first round begins with the earliest read, which may not end first. */
  if (depth->growth == 0 && (round->start == 0 || read->start < round->start))
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
