/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A range scheduler for many threads.  Ranges of the image are taken in order,
 * and not far ahead of the first one that is not hashed yet.  Zero ranges are
 * added to the table here, and need not be read.
 */

#ifndef BLKSUM_DISPATCHER_H
#define BLKSUM_DISPATCHER_H

#include <pthread.h>
#include <stdbool.h>

#include "read/window.h"
#include "util/extent.h"

struct error;
struct scan;

/* Set RANGE to the next range, for TAKER.  Called by one thread at a time.  1,
 * 0 at the end, or -1 with the reason.
 */
typedef int (*take_function) (void *taker, struct range *range,
                              struct error *error);

struct walk {
  struct scan *scan;
  take_function take;

  pthread_mutex_t turn;         /* held while a range is taken */

  pthread_mutex_t lock;         /* protects the fields below; taken last */
  struct window window;
  pthread_cond_t has_advanced;  /* the window advanced, or the walk stopped */
  bool stopped;
};

/* A range that was taken.  It is in the window until walk_done. */
struct walk_range {
  struct range range;
  struct window_item item;
};

void walk_init (struct walk *walk, struct scan *scan, take_function take);
void walk_destroy (struct walk *walk);

/* Returns the longest range to take, in bytes, so that COUNT of them can be in
 * flight.
 */
uint64_t walk_max_range (const struct walk *walk, unsigned count);

/* Wait for the next range to be read by TAKER.  1; 0 at the end, or when the
 * walk was stopped; or -1 with the reason, which does not stop the walk.
 */
int walk_next (struct walk *walk, void *taker, struct walk_range *range,
               struct error *error);

/* The same, but does not wait: RANGE has length 0 if other ranges have to be
 * hashed first.
 */
int walk_try_next (struct walk *walk, void *taker, struct walk_range *range,
                   struct error *error);

/* Wait until a range can be taken, or the walk was stopped. */
void walk_wait (struct walk *walk);

/* Move the range from FROM to TO. */
void walk_move (struct walk *walk, struct walk_range *from,
                struct walk_range *to);

/* Report that RANGE was hashed, or dropped if the walk was stopped. */
void walk_done (struct walk *walk, struct walk_range *range);

/* Stop: waiting threads return, and no more ranges are taken. */
void walk_stop (struct walk *walk);

#endif /* BLKSUM_DISPATCHER_H */
