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

#include "blkhash-manifest.h"

#include "../lib/leaf-diff.h"

struct meet_side {
  struct blkhash_manifest_run run; /* what is left of it; its thread waits */
  bool ended;
};

struct meet_range {
  uint64_t first, count;        /* blocks */
};

struct meet {
  /* Set once. */
  struct leaf_diff diff;
  bool only_whether;            /* not where they differ: stop at the first */

  pthread_mutex_t lock;         /* protects what follows */
  pthread_cond_t changed;
  struct meet_side side[2];
  bool stopped;                 /* nothing more is compared */
  bool differ;
  bool tail_unknown;            /* whether the tail does */
  struct meet_range *ranges;    /* that differ, and the tail if it may;
                                 * neighbours are joined */
  size_t nr_ranges, room;
  int error;                    /* ENOMEM */
};

/* TAIL as in leaf-diff.h. */
void meet_init (struct meet *meet, size_t leaf_size, uint64_t tail,
                bool only_whether);
void meet_destroy (struct meet *meet);

/* The next blocks of SIDE, 0 or 1.  Returns when they were compared; what the
 * other does not have differs unless it is zero.  ECANCELED if it was stopped;
 * ENOMEM.
 */
int meet_blocks (struct meet *meet, int side,
                 const struct blkhash_manifest_run *run);

/* SIDE has no more. */
void meet_end (struct meet *meet, int side);

/* Compare nothing more: a side failed.  False if it was stopped before, which
 * may be why.
 */
bool meet_stop (struct meet *meet);

#endif /* BLKSUM_MEET_H */
