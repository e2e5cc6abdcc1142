/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A range scheduler for many threads.  Threads take ranges of the image in
 * order, and only up to a limit ahead of the first range that is not hashed
 * yet.  Zero ranges are not returned: the dispatcher adds them to the table.
 */

#ifndef BLKSUM_DISPATCHER_H
#define BLKSUM_DISPATCHER_H

#include <pthread.h>
#include <stdbool.h>

#include "read/window.h"
#include "util/extent.h"

struct error;
struct scan;

/* Set RANGE to the next range, for WORKER.  Called by one thread at a time.
 * Returns 1, 0 at the end, or -1 with the reason.
 */
typedef int (*next_range_function) (void *worker, struct range *range,
                                    struct error *error);

struct dispatcher {
  struct scan *scan;
  next_range_function next_range;

  pthread_mutex_t turn;         /* held while a range is taken: it is the turn
                                 * of that thread */

  pthread_mutex_t lock;         /* protects the fields below, and the items of
                                 * the window; taken after TURN, and before
                                 * scan->lock */
  struct window window;
  uint64_t end;                 /* of the last range that was taken, bytes */
  bool ended;                   /* there are no more ranges */
  pthread_cond_t has_advanced;  /* the window advanced, or the dispatcher
                                 * stopped */
  bool stopped;
};

/* A range that was taken.  It is in the window until dispatcher_done. */
struct dispatched_range {
  struct range range;
  struct window_item item;
};

/* MEMORY is the size of all buffers, in bytes. */
void dispatcher_init (struct dispatcher *dispatcher, struct scan *scan,
                      next_range_function next_range, size_t memory);
void dispatcher_destroy (struct dispatcher *dispatcher);

/* Returns the longest range to take, in bytes, so that COUNT of them can be in
 * flight.
 */
uint64_t dispatcher_max_range (const struct dispatcher *dispatcher,
                               unsigned count);

/* Wait for the next range that WORKER must read.  Returns 1; 0 at the end, or
 * if the dispatcher was stopped; or -1 with the reason.  An error does not stop
 * the dispatcher.
 */
int dispatcher_next (struct dispatcher *dispatcher, void *worker,
                     struct dispatched_range *range, struct error *error);

/* The same, but does not wait for the window: the length of RANGE is 0 if other
 * ranges must be hashed first.
 */
int dispatcher_try_next (struct dispatcher *dispatcher, void *worker,
                         struct dispatched_range *range, struct error *error);

/* Wait until a range can be taken, or the dispatcher is stopped. */
void dispatcher_wait (struct dispatcher *dispatcher);

/* Move the range from FROM to TO. */
void dispatcher_move (struct dispatcher *dispatcher,
                      struct dispatched_range *from,
                      struct dispatched_range *to);

/* Report that RANGE was hashed, or that this failed and the dispatcher was
 * stopped.
 */
void dispatcher_done (struct dispatcher *dispatcher,
                      struct dispatched_range *range);

/* True if all ranges that are needed were hashed. */
bool dispatcher_is_done (struct dispatcher *dispatcher);

/* Stop: waiting threads return, and no more ranges are taken. */
void dispatcher_stop (struct dispatcher *dispatcher);

#endif /* BLKSUM_DISPATCHER_H */
