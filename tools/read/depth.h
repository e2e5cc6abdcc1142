/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The queue depth: how many reads to keep in flight.  It adapts while reading.
 *
 * This has no threads, reads nothing, and has no clock: the caller reports each
 * read.  Not thread-safe: the caller holds a lock.
 */

#ifndef BLKSUM_DEPTH_H
#define BLKSUM_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

/* A read that was hashed.  Times are nanoseconds of one clock. */
struct depth_read {
  uint64_t start, end;          /* of the read, and of its hashing */
  uint64_t waited;              /* ns without a CPU, in the read */
  uint64_t busy;                /* ns with a CPU, in the read and hashing */
  uint64_t len;                 /* bytes */
};

struct depth_round {
  uint64_t start;               /* ns */
  uint64_t waited, busy;        /* ns, of all threads */
  uint64_t work;                /* bytes, and READ_COST for each read */
  unsigned reads, slow;         /* SLOW of the reads mostly waited */
};

struct depth {
  unsigned limit;               /* the most reads in flight now */

  /* Private to depth.c. */
  unsigned min, max;            /* bounds of the limit */
  unsigned threads;             /* the most threads that are busy */
  enum {
    DEPTH_STEADY, DEPTH_UP, DEPTH_CONFIRM, DEPTH_DRAIN, DEPTH_DOWN
  } phase;
  struct depth_round round;
  unsigned base;                /* the limit before the probe */
  unsigned growth;              /* factor for the limit in the next probe */
  double rate;                  /* mean rate at the limit; 0: not known */
  double best;                  /* the best rate, at this limit or a higher */
  double first_gain;            /* of the rate, in the first probe round */
  bool was_slow, had_waits;     /* of the last round */
  unsigned up_in, up_backoff;   /* rounds until the next probe, and after a
                                 * probe without a gain */
  unsigned down_in, down_backoff;
  unsigned forced;              /* reads; for tests */
  unsigned seed;
};

/* Start with a limit of START reads, which is also the minimum.  The maximum is
 * MAX.  THREADS can read and hash at once.
 */
void depth_init (struct depth *depth, unsigned start, unsigned max,
                 unsigned threads);

/* For tests: set the limit to VALUE, or to another random number after each
 * read if VALUE is "random".
 */
void depth_force (struct depth *depth, const char *value);

/* Report a read that was hashed. */
void depth_read_done (struct depth *depth, const struct depth_read *read);

#endif /* BLKSUM_DEPTH_H */
