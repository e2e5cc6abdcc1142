/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where the leaves of two images meet, block by block, as they come: each from
 * a thread of its own, in order.  Who is ahead waits for the other, so
 * nothing is kept.
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

#include "../lib/manifest/leaf-diff.h"

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
  int (*tell) (void *opaque, const struct meet_range *range);
  void *opaque;

  pthread_mutex_t lock;         /* protects what follows */
  pthread_cond_t changed;
  struct meet_side side[2];
  bool stopped;                 /* nothing more is compared */
  bool differ;
  bool tail_unknown;            /* whether the tail does */
  struct meet_range range;      /* the last that differs, or may, not told yet:
                                 * its neighbours are to be joined to it */
  int error;                    /* of TELL */
};

/* TAIL as in leaf-diff.h.  TELL is told of what differs, in order, neighbours
 * joined, by one thread at a time while all others wait; what it returns,
 * unless it is 0, is an errno value that ends all.  NULL if only whether they
 * differ matters, so that the first difference stops all.
 */
void meet_init (struct meet *meet, uint64_t tail,
                int (*tell) (void *opaque, const struct meet_range *range),
                void *opaque);
void meet_destroy (struct meet *meet);

/* The next blocks of SIDE, 0 or 1.  Returns when they were compared; what the
 * other does not have differs unless it is zero.  ECANCELED if it was stopped;
 * what TELL returned.
 */
int meet_blocks (struct meet *meet, int side,
                 const struct blkhash_manifest_run *run);

/* SIDE has no more. */
void meet_end (struct meet *meet, int side);

/* Compare nothing more: a side failed.  False if it was stopped before, which
 * may be why.
 */
bool meet_stop (struct meet *meet);

/* Does nobody wait for more?  The other side may have failed. */
bool meet_is_stopped (struct meet *meet);

/* Both have ended, and the images differ: tell of the last range, in which the
 * tail is if nobody knows whether it differs.  What TELL returned.
 */
int meet_tell_last (struct meet *meet);

#endif /* BLKSUM_MEET_H */
