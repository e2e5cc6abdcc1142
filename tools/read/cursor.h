/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A cursor over an image from its start to its end.  It returns ranges to read,
 * and zero ranges, which need not be read.
 *
 * The cursor turns extents of any length into ranges of whole blocks, so that
 * no block is split.  It returns only blocks with missing bytes, which are
 * usually those that a leaf table does not have yet.  Not thread-safe: the
 * caller holds a lock.
 */

#ifndef BLKSUM_CURSOR_H
#define BLKSUM_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/extent.h"

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

  uint64_t offset;              /* end of the last returned range */
  uint64_t end;                 /* end of the current missing range */
  bool is_short;                /* the extents of the current missing range are
                                 * not queried */
  uint64_t extent_end;          /* end of the current extent */
  bool extent_zero;             /* the current extent is zero */
  struct extent lookahead;      /* the next extent, if len is not 0 */
};

/* Start at offset 0.  The caller has set the size and the functions.  ALIGN is
 * a power of two.  MAX_READ is rounded up to a multiple of ALIGN.
 */
void cursor_start (struct cursor *cursor, uint64_t align, uint64_t max_read);

/* Set RANGE to the next range.  Returns 1; 0 at the end of the image; or -1
 * with ERROR set.
 */
int cursor_next (struct cursor *cursor, struct range *range,
                 struct error *error);

#endif /* BLKSUM_CURSOR_H */
