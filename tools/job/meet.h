/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the leaves of two images meet, block by block, as they come: each from
 * a thread of its own, in order.  Who is ahead waits for the other, so nothing
 * is kept but what differs.
 *
 * It knows nothing of where leaves come from.
 */

#ifndef BLKSUM_MEET_H
#define BLKSUM_MEET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEET_NO_BLOCK UINT64_MAX

/* Consecutive blocks, of data or, if LEAVES is NULL, of zeros. */
struct meet_run {
  uint64_t first, count;
  const unsigned char *leaves;
};

struct meet_side {
  struct meet_run run;          /* what is left of it; its thread waits */
  bool ended;
};

struct meet {
  /* Set once. */
  size_t leaf_size;             /* bytes */
  bool only_whether;            /* not where they differ: stop at the first */
  uint64_t tail;                /* the block in which one image ends, and the
                                 * other does not: their leaves say nothing */

  pthread_mutex_t lock;         /* protects what follows */
  pthread_cond_t changed;
  struct meet_side side[2];
  bool stopped;                 /* nothing more is compared */
  bool differ;
  bool tail_unknown;            /* whether the block TAIL does */
  struct meet_run *ranges;      /* that differ, and TAIL if that is unknown;
                                 * neighbours are joined */
  size_t nr_ranges, room;
  int error;                    /* ENOMEM */
};

void meet_init (struct meet *meet, size_t leaf_size, uint64_t tail,
                bool only_whether);
void meet_destroy (struct meet *meet);

/* The next blocks of SIDE, 0 or 1.  Returns when they were compared; what the
 * other does not have differs unless it is zero.  ECANCELED if it was stopped;
 * ENOMEM.
 */
int meet_blocks (struct meet *meet, int side, const struct meet_run *run);

/* SIDE has no more. */
void meet_end (struct meet *meet, int side);

/* Compare nothing more: a side failed.  False if it was stopped before, which
 * may be why.
 */
bool meet_stop (struct meet *meet);

#endif /* BLKSUM_MEET_H */
