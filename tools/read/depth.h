/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The queue depth: the number of reads to keep in flight.  It adapts to the
 * storage while an image is read.
 *
 * A read counts as in flight until its data is hashed.  The depth is computed
 * only from the reads that the caller reports: there are no threads and no
 * clock here.  Not thread-safe: the caller holds a lock.
 */

#ifndef BLKSUM_DEPTH_H
#define BLKSUM_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

/* A read whose data was hashed.  Times are nanoseconds of one clock. */
struct depth_read {
  uint64_t start, end;          /* start of the read, and end of hashing */
  uint64_t waited;              /* time of the read that was spent waiting for
                                 * a device or a server: see image-reader.c */
  uint64_t busy;                /* the rest of the time of the read, and the
                                 * time of hashing */
  uint64_t len;                 /* bytes */
};

struct depth_round {
  uint64_t start;               /* ns */
  uint64_t waited, busy;        /* ns, of all threads */
  uint64_t work;                /* bytes, and READ_COST for each read */
  unsigned reads, slow;         /* number of reads, and of reads that mostly
                                 * waited */
};

struct depth {
  unsigned limit;               /* maximum number of reads that are in flight or
                                 * not hashed yet */

  /* Private to depth.c, which explains the phases, rounds and probes. */
  unsigned min, max;            /* bounds of the limit */
  unsigned threads;             /* maximum number of busy threads */
  enum {
    DEPTH_STEADY, DEPTH_UP, DEPTH_CONFIRM, DEPTH_DRAIN, DEPTH_DRAIN_DOWN,
    DEPTH_DOWN
  } phase;
  struct depth_round round;
  unsigned base;                /* the limit before the probe */
  unsigned growth;              /* factor for the limit in the next probe; 0 in
                                 * the first round */
  double rate;                  /* mean rate at the limit, work per ns; 0:
                                 * unknown */
  double best;                  /* best rate so far, at this limit or a higher
                                 * one; it slowly approaches RATE */
  double first_gain;            /* factor by which the rate grew in UP, for
                                 * CONFIRM */
  bool was_slow, had_waits;     /* properties of the last round */
  unsigned up_in, up_backoff;   /* rounds until a higher limit is probed: from
                                 * now, and after the next probe without gain */
  unsigned down_in, down_backoff; /* the same for a lower limit */
};

/* Start with a limit of START reads, which is also the minimum.  The maximum is
 * MAX.  Up to THREADS threads read and hash.
 */
void depth_init (struct depth *depth, unsigned start, unsigned max,
                 unsigned threads);

/* Report a read that was hashed. */
void depth_read_done (struct depth *depth, const struct depth_read *read);

#endif /* BLKSUM_DEPTH_H */
