/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A queue of the ranges of an image, for many threads.  Threads take ranges in
 * order, and only up to a limit ahead of the first range that is not hashed
 * yet.  A range is searched for when a thread takes it, and not before.  Zero
 * ranges are not returned: the queue adds them to the leaf table.
 */

#ifndef BLKSUM_RANGE_QUEUE_H
#define BLKSUM_RANGE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "read/window.h"
#include "util/error.h"
#include "util/extent.h"

struct scan;

/* Set RANGE to the next range, for WORKER.  Called by one thread at a time.
 * Returns 1; 0 at the end; or -1 with the reason.
 */
typedef int (*next_range_function) (void *worker, struct range *range,
                                    struct error *error);

/* FIRST and SECOND are ranges of data.  Returns 1 if one read can return FIRST
 * directly followed by SECOND; 0 if not; or -1 with the reason.  Called by one
 * thread at a time.
 */
typedef int (*adjoin_function) (void *opaque, const struct range *first,
                                const struct range *second,
                                struct error *error);

struct range_queue {
  struct scan *scan;
  next_range_function next_range;
  adjoin_function adjoin;       /* NULL: ranges are not joined */
  void *adjoin_opaque;

  pthread_mutex_t turn;         /* held by the thread that takes ranges;
                                 * protects the next three fields */
  int pending;                  /* result of next_range that was not used yet,
                                 * or -1 after an error of adjoin or of adding
                                 * joined zeros; 0 if there is none */
  struct range pending_range;
  struct error pending_error;

  pthread_mutex_t lock;         /* protects the fields below, and the items of
                                 * the window; taken after TURN */
  struct window window;
  bool ended;                   /* there are no more ranges */
  pthread_cond_t has_advanced;  /* the window advanced, or STOPPED was set */
  bool stopped;
};

/* A range that was taken.  It is in the window until range_queue_done. */
struct taken_range {
  struct range range;
  struct window_item item;
};

void range_queue_init (struct range_queue *queue, struct scan *scan,
                       next_range_function next_range);
void range_queue_destroy (struct range_queue *queue);

/* Wait for the next range that WORKER must read, and take this range and those
 * after it that ADJOIN accepts: up to MAX ranges in RANGES, together up to
 * MAX_LEN bytes, unless the first alone is longer.  Sets *COUNT to the number.
 * Returns 1; 0 at the end, or if the queue was stopped; or -1 with the reason.
 * An error does not stop the queue.
 */
int range_queue_next (struct range_queue *queue, void *worker,
                      struct taken_range *ranges, unsigned max,
                      uint64_t max_len, unsigned *count, struct error *error);

/* Like range_queue_next for one range, but does not wait: if other ranges must
 * be hashed first, returns 1 and sets the length of RANGE to 0.
 */
int range_queue_try_next (struct range_queue *queue, void *worker,
                          struct taken_range *range, struct error *error);

/* Wait until a range can be taken, or the queue is stopped. */
void range_queue_wait (struct range_queue *queue);

/* Move the range from FROM to TO. */
void range_queue_move (struct range_queue *queue, struct taken_range *from,
                       struct taken_range *to);

/* Report that RANGE was hashed, or that this failed and the queue was stopped.
 */
void range_queue_done (struct range_queue *queue, struct taken_range *range);

/* Returns true if all ranges were hashed. */
bool range_queue_is_done (struct range_queue *queue);

/* Stop: waiting threads return, and no more ranges are taken. */
void range_queue_stop (struct range_queue *queue);

#endif /* BLKSUM_RANGE_QUEUE_H */
