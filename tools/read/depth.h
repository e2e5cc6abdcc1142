/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The queue depth: how many reads to keep in flight, found while reading.
 *
 * It knows nothing of threads or of what is read, and has no clock: its user
 * reports each read.  One thread at a time.
 */

#ifndef BLKSUM_DEPTH_H
#define BLKSUM_DEPTH_H

#include <stdbool.h>
#include <stdint.h>

/* A read that was hashed.  Times are nanoseconds of one clock. */
struct depth_read {
  uint64_t start, end;          /* of both */
  uint64_t waited;              /* ns of the read without a CPU, */
  uint64_t busy;                /* and of both with one */
  uint64_t len;                 /* bytes */
};

struct depth_round {
  uint64_t start;               /* ns */
  uint64_t waited, busy;        /* ns, of all threads */
  uint64_t work;                /* bytes and more */
  unsigned reads, slow;         /* SLOW of them waited for the most part */
};

struct depth {
  unsigned limit;               /* reads: how many there may be now */

  /* Of depth.c. */
  unsigned min, max;            /* the limit is never outside */
  unsigned threads;             /* that can be busy */
  enum {
    DEPTH_STEADY, DEPTH_UP, DEPTH_AGAIN, DEPTH_DRAIN, DEPTH_DOWN
  } phase;
  struct depth_round round;
  unsigned base;                /* the limit before the probe */
  unsigned growth;              /* of it by the next one */
  double rate;                  /* at the limit, a mean; 0: not known */
  double best;                  /* at this limit or a higher one */
  double first_gain;            /* of the rate, by the probe */
  bool was_slow, had_waits;     /* so was the last round */
  unsigned up_in, up_backoff;   /* rounds until the next probe, and after a
                                 * probe that found nothing */
  unsigned down_in, down_backoff;
  unsigned forced;              /* reads; for tests */
  unsigned seed;
};

/* START reads at first, and no less later; up to MAX.  THREADS can be busy with
 * them at once.
 */
void depth_init (struct depth *depth, unsigned start, unsigned max,
                 unsigned threads);

/* For tests: as many as VALUE says, or with "random" another number after each
 * read.
 */
void depth_force (struct depth *depth, const char *value);

/* A read was hashed. */
void depth_read_done (struct depth *depth, const struct depth_read *read);

#endif /* BLKSUM_DEPTH_H */
