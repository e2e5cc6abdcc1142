/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The ranges that the threads of a reader read: which one is next?
 *
 * The cursor goes over an image from its start to its end, and turns extents of
 * any length into ranges of whole blocks, so that no block is split.  It
 * returns only blocks with missing bytes, which are usually those that a leaf
 * table does not have yet.  A range is searched for when a thread takes it, and
 * not before: one thread at a time, in its *turn*, uses the cursor and what
 * finds the extents.
 *
 * Threads take ranges in order, and only within the window, which limits how
 * far ranges may be ahead of the first range that is not hashed.  Leaves are
 * folded (added to the outer hash) in order: those of the ranges ahead are kept
 * in memory until the first range is hashed.  The window counts the memory for
 * leaves.  So a hole of any length counts no more than a range of one block,
 * and small blocks count more than large blocks for the same data.
 *
 * Zero ranges are not returned: they are added to the leaf table here.
 *
 * Ranges that one read can return, because their data is adjacent in a file,
 * are taken in the same turn, and so are the zeros between and after them.  The
 * first range that does not adjoin is kept as the pending range, and is taken
 * next.
 */

#ifndef BLKSUM_READER_RANGES_H
#define BLKSUM_READER_RANGES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/extent.h"

struct scan;

/* ---- The cursor: extents become ranges ---- */

/* Find the extent at OFFSET, which is less than the size.  OFFSET never
 * decreases from one call to the next.  Returns 0, or -1 with the reason in
 * ERROR.
 */
typedef int (*extent_function) (void *opaque, uint64_t offset,
                                struct extent *extent, struct error *error);

/* Find the first missing range at or after OFFSET. */
typedef enum next_range (*missing_function) (void *opaque, uint64_t offset,
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

/* Set RANGE to the next range. */
enum next_range cursor_next (struct cursor *cursor, struct range *range,
                             struct error *error);

/* ---- The window ---- */

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
 * COUNT ranges in flight, or somewhat fewer if COUNT is large: RANGE_COST is
 * not considered.
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

/* ---- Ranges for many threads ---- */

/* Set RANGE to the next range.  OPAQUE is that of reader_ranges_next.  Called
 * by one thread at a time.
 */
typedef enum next_range (*next_range_function) (void *opaque,
                                                struct range *range,
                                                struct error *error);

struct reader_ranges {
  struct scan *scan;
  next_range_function next_range; /* NULL: that of the cursor */
  bool joins;                   /* ranges that one read can return are taken
                                 * together */

  pthread_mutex_t turn;         /* held by the thread whose turn it is; protects
                                 * the cursor, what finds extents for it, and
                                 * the next three fields */
  struct cursor cursor;
  enum next_range pending;      /* result of next_range that was not used yet,
                                 * or NEXT_ERROR after an error of adding joined
                                 * zeros; NEXT_END if there is none */
  struct range pending_range;
  struct error pending_error;

  pthread_mutex_t lock;         /* protects the fields below, and the items of
                                 * the window; taken after TURN */
  struct window window;
  bool ended;                   /* there are no more ranges */
  pthread_cond_t has_advanced;  /* the window advanced, or STOPPED was set */
  bool stopped;
};

/* A range that was taken.  It is in the window until reader_ranges_done. */
struct taken_range {
  struct range range;
  struct window_item item;
};

/* The cursor is the one to use; it is not started. */
void reader_ranges_init (struct reader_ranges *ranges, struct scan *scan,
                         const struct cursor *cursor,
                         next_range_function next_range);
void reader_ranges_destroy (struct reader_ranges *ranges);

/* Wait for the next range to read, and take this range and those after it whose
 * data is stored directly after it, if JOINS is set: up to MAX ranges in TAKEN,
 * together up to MAX_LEN bytes, unless the first alone is longer.  Sets *COUNT
 * to the number.  OPAQUE is for the next_range_function.  If the reader was
 * stopped, this is the end.  An error does not stop it.
 */
enum next_range reader_ranges_next (struct reader_ranges *ranges,
                                    void *opaque, struct taken_range *taken,
                                    unsigned max, uint64_t max_len,
                                    unsigned *count, struct error *error);

/* Like reader_ranges_next for one range, but does not wait: if other ranges
 * must be hashed first, returns NEXT_FOUND and sets the length of RANGE to 0.
 */
enum next_range reader_ranges_try_next (struct reader_ranges *ranges,
                                        void *opaque,
                                        struct taken_range *range,
                                        struct error *error);

/* Wait until a range can be taken, or the reader is stopped. */
void reader_ranges_wait (struct reader_ranges *ranges);

/* Move the range from FROM to TO. */
void reader_ranges_move (struct reader_ranges *ranges,
                         struct taken_range *from, struct taken_range *to);

/* Report that RANGE was hashed, or that this failed and the reader was stopped.
 */
void reader_ranges_done (struct reader_ranges *ranges,
                         struct taken_range *range);

/* Returns true if all ranges were hashed. */
bool reader_ranges_is_done (struct reader_ranges *ranges);

/* Stop: waiting threads return, and no more ranges are taken. */
void reader_ranges_stop (struct reader_ranges *ranges);

#endif /* BLKSUM_READER_RANGES_H */
