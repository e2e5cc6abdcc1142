/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A queue of the ranges of an image, for many threads.  Threads take ranges in
 * order, and only up to a limit ahead of the first range that is not hashed
 * yet.  A range is searched for when a thread takes it, and not before.  Zero
 * ranges are not returned: the queue adds them to the leaf table.
 */

#ifndef BLKSUM_READER_RANGES_H
#define BLKSUM_READER_RANGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/extent.h"

/* The window limits how far ranges may be ahead of the first range that is not
 * hashed, because leaves are folded (added to the outer hash) in order: those
 * of the ranges ahead are kept in memory until the first range is hashed.
 *
 * The window counts the memory for leaves.  So a hole of any length counts no
 * more than a range of one block, and small blocks count more than large blocks
 * for the same data.  Not thread-safe: the caller holds a lock.
 */

struct range;

/* A range that was taken and is not hashed yet. */
struct window_item {
  uint64_t offset;              /* offset of the range, bytes */
  uint64_t start;               /* value of TAKEN before this range */
  struct window_item *prev, *next;
};

struct window {
  uint64_t block_size;          /* bytes */
  uint64_t taken;               /* bytes of memory of all ranges that were ever
                                 * taken */
  struct window_item *first, *last; /* in the order of the image */
};

void window_init (struct window *window, uint64_t block_size);

/* Returns the maximum length of a range, in bytes, with which the window allows
 * COUNT ranges in flight, or somewhat fewer if COUNT is large: the nodes of the
 * ranges (see RANGE_COST in window.c) are not considered.
 */
uint64_t window_max_range (const struct window *window, unsigned count);

/* Returns true if a range may be taken now.  Always true if all taken ranges
 * are hashed.
 */
bool window_is_open (const struct window *window);

/* Take RANGE, which is after all ranges that were taken before.  ITEM is in use
 * until window_done.
 */
void window_take (struct window *window, struct window_item *item,
                  const struct range *range);

/* Move the range of FROM to TO.  Then TO is in use, and FROM is free. */
void window_move (struct window *window, struct window_item *from,
                  struct window_item *to);

/* Remove ITEM, whose range is hashed. */
void window_done (struct window *window, struct window_item *item);

/* A cursor over an image from its start to its end.  It returns ranges to read,
 * and zero ranges, which need not be read.
 *
 * The cursor turns extents of any length into ranges of whole blocks, so that
 * no block is split.  It returns only blocks with missing bytes, which are
 * usually those that a leaf table does not have yet.  Not thread-safe: the
 * caller holds a lock.
 */

struct error;

/* Find the extent at OFFSET, which is less than the size.  OFFSET never
 * decreases from one call to the next.  Returns 0, or -1 with the reason in
 * ERROR.
 */
typedef int (*extent_function) (void *opaque, uint64_t offset,
                                struct extent *extent, struct error *error);

/* Find the first missing range at or after OFFSET.  Returns 1; 0 if there is
 * none; or -1 with the reason in ERROR.
 */
typedef int (*missing_function) (void *opaque, uint64_t offset,
                                 uint64_t *start, uint64_t *len,
                                 struct error *error);

/* Extents that were found, without gaps between them. */
struct found_extents {
  struct extent *extents;       /* COUNT of them, with room for MAX */
  size_t count, max;
  uint64_t start, end;          /* offsets in the image, bytes */
};

struct cursor {
  /* Set once. */
  uint64_t size;                /* of the image */
  uint64_t align;               /* ranges start at multiples of this */
  uint64_t max_read;            /* length of the longest range to read; a
                                 * multiple of ALIGN */
  extent_function extent_at;    /* NULL: everything is data */
  void *extent_opaque;
  missing_function missing_at;  /* NULL: everything is missing */
  void *missing_opaque;
  bool skip_short_queries;      /* do not query the extents of a missing range
                                 * that one read covers, unless the range is
                                 * the whole image */
  bool keep_places;             /* ranges of data get their extents */

  uint64_t offset;              /* end of the last returned range */
  uint64_t end;                 /* end of the current missing range */
  bool is_short;                /* the extents of the current missing range are
                                 * not queried */
  uint64_t extent_end;          /* end of the current extent */
  bool extent_zero;             /* the current extent is zero */
  struct extent lookahead;      /* the next extent, if len is not 0 */
  struct found_extents found;   /* if KEEP_PLACES: all up to the end of the last
                                 * extent, of which no range was returned yet
                                 */
};

/* Start at offset 0.  The caller has set the size and the functions.  ALIGN is
 * a power of two.  MAX_READ is rounded up to a multiple of ALIGN.
 */
void cursor_start (struct cursor *cursor, uint64_t align, uint64_t max_read);

/* Free the extents that no range has.  Only needed with KEEP_PLACES. */
void cursor_stop (struct cursor *cursor);

/* Set RANGE to the next range.  Returns 1; 0 at the end of the image; or -1
 * with ERROR set.
 */
int cursor_next (struct cursor *cursor, struct range *range,
                 struct error *error);

struct scan;

/* Set RANGE to the next range, for WORKER.  Called by one thread at a time.
 * Returns 1; 0 at the end; or -1 with the reason.
 */
typedef int (*next_range_function) (void *worker, struct range *range,
                                    struct error *error);

struct range_queue {
  struct scan *scan;
  next_range_function next_range;
  bool joins;                   /* ranges that one read can return are taken
                                 * together */

  pthread_mutex_t turn;         /* held by the thread that takes ranges;
                                 * protects the next three fields */
  int pending;                  /* result of next_range that was not used yet,
                                 * or -1 after an error of adding joined
                                 * zeros; 0 if there is none */
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
 * after it whose data is stored directly after it, if JOINS is set: up to MAX
 * ranges in RANGES, together up to MAX_LEN bytes, unless the first alone is
 * longer.  Sets *COUNT to the number.
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

#endif /* BLKSUM_READER_RANGES_H */
