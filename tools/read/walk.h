/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A walk over an image by many threads: ranges are handed out in order, and
 * none far ahead of the first that is not hashed yet.  What need not be read is
 * put into the table here.
 */

#ifndef BLKSUM_WALK_H
#define BLKSUM_WALK_H

#include <pthread.h>
#include <stdbool.h>

#include "read/window.h"
#include "util/extent.h"

struct error;
struct fill;

/* Set RANGE to the next one for TAKER, who asked for it.  One thread at a time.
 * 1, 0 at the end, or -1 with the reason.
 */
typedef int (*take_function) (void *taker, struct range *range,
                              struct error *error);

struct walk {
  struct fill *fill;
  take_function take;

  pthread_mutex_t turn;         /* held while a range is taken */

  pthread_mutex_t lock;         /* protects what follows; taken last */
  struct window window;
  pthread_cond_t has_advanced;  /* the window, or all stopped */
  bool stopped;
};

/* A range that was handed out: it is in the window until walk_done. */
struct walk_range {
  struct range range;
  struct window_item item;
};

void walk_init (struct walk *walk, struct fill *fill, take_function take);
void walk_destroy (struct walk *walk);

/* The longest range to take, so that COUNT of them are in flight; bytes. */
uint64_t walk_max_range (const struct walk *walk, unsigned count);

/* Wait for the next range to be read by TAKER.  1; 0 at the end, or when the
 * walk was stopped; or -1 with the reason, which stops nobody.
 */
int walk_next (struct walk *walk, void *taker, struct walk_range *range,
               struct error *error);

/* The same, but RANGE has a length of 0 when others have to be hashed first. */
int walk_try_next (struct walk *walk, void *taker, struct walk_range *range,
                   struct error *error);

/* Until that is no longer so, or the walk was stopped. */
void walk_wait (struct walk *walk);

/* TO holds the range from now on, instead of FROM. */
void walk_move (struct walk *walk, struct walk_range *from,
                struct walk_range *to);

/* It was read and hashed; or given up, if the walk was stopped. */
void walk_done (struct walk *walk, struct walk_range *range);

/* Nobody waits any more, or is given anything. */
void walk_stop (struct walk *walk);

#endif /* BLKSUM_WALK_H */
