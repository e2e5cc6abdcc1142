/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A walk over an image from its start to its end: ranges to read, and ranges
 * that are known to be zero and need not be read.
 *
 * It turns extents of any length into ranges of whole blocks, so that no block
 * arrives in pieces, and passes what is not missing.  It knows nothing of where
 * extents come from, or who misses what.  One thread at a time: its user holds
 * a lock.
 */

#ifndef BLKSUM_CURSOR_H
#define BLKSUM_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/extent.h"

struct error;

/* Find the extent at OFFSET, less than the size.  The offset never goes back
 * from one call to the next.  0, or -1 with the reason in ERROR.
 */
typedef int (*extent_function) (void *opaque, uint64_t offset,
                                struct extent *extent, struct error *error);

/* Find the first range at or after OFFSET that is to be handed out.  1, 0 if
 * there is none, or -1 with the reason in ERROR.
 */
typedef int (*missing_function) (void *opaque, uint64_t offset,
                                 uint64_t *start, uint64_t *len,
                                 struct error *error);

struct cursor {
  /* Set once. */
  uint64_t size;                /* of the image */
  uint64_t align;               /* ranges start at multiples of it */
  uint64_t max_read;            /* a range to read is not longer; a multiple of
                                 * align */
  extent_function extent_at;    /* NULL: everything is data */
  void *extent_opaque;
  missing_function missing_at;  /* NULL: everything is handed out */
  void *missing_opaque;

  uint64_t offset;              /* everything before it was handed out */
  uint64_t end;                 /* of what is missing from there on */
  uint64_t extent_end;          /* the extent that was fetched last */
  bool extent_zero;
  struct extent ahead;          /* the one behind it, if its len is not 0 */
};

/* What is set once is set, but for align and max_read: ALIGN is a power of two,
 * and MAX_READ is rounded up to a multiple of it.
 */
void cursor_start (struct cursor *cursor, uint64_t align, uint64_t max_read);

/* The next range: 1, or 0 at the end of the image, or -1 with ERROR set. */
int cursor_next (struct cursor *cursor, struct range *range,
                 struct error *error);

#endif /* BLKSUM_CURSOR_H */
