/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Extents and ranges of an image.
 *
 * A source finds where an extent is stored when it looks up whether the extent
 * is zero.  The extent keeps this place, and a range keeps the extents of which
 * it consists, so that the thread that reads the range needs no second lookup,
 * and no lock.
 */

#ifndef BLKSUM_EXTENT_H
#define BLKSUM_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file;

/* Where consecutive bytes of an image are stored. */
struct place {
  enum place_kind {
    PLACE_UNKNOWN,              /* only the source can read them: see the
                                 * function read of struct image_ops */
    PLACE_FILE,                 /* from offset HOST of FILE on */
    PLACE_ZEROS,                /* nowhere: they are zeros */
  } kind;
  bool zero;                    /* only in a pair of images: they read as zeros
                                 * in this image */
  const struct file *file;      /* these two only for PLACE_FILE; bytes */
  uint64_t host;
};

/* Advance PLACE by N bytes. */
static inline void
place_advance (struct place *place, uint64_t n)
{
  if (place->kind == PLACE_FILE)
    place->host += n;
}

/* Are the bytes at NEXT stored directly after the LEN bytes at PLACE?  If so,
 * one read returns both.
 */
static inline bool
place_continues (const struct place *place, uint64_t len,
                 const struct place *next)
{
  return place->kind == next->kind &&
    (place->kind != PLACE_FILE ||
     (place->file == next->file && place->host + len == next->host));
}

/* An extent of LEN bytes, whose offset the caller knows.  If ZERO is set, it
 * reads as zeros; otherwise its content is unknown.  It can be both zero and
 * stored in a file, if it is a hole of the file.  LEN is at least 1, and the
 * extent can end beyond the end of the image.
 */
struct extent {
  uint64_t len;
  bool zero;
  struct place place[2];        /* the second one only in a pair of images */
};

struct range {
  uint64_t offset, len;         /* bytes */
  bool zero;                    /* it reads as zeros */
  struct extent *extents;       /* for data whose places are kept: the extents
                                 * of which the range consists, in order; else
                                 * NULL.  The thread that reads the range frees
                                 * them. */
  size_t nr_extents;
};

/* The result of a search for the next range. */
enum next_range {
  NEXT_ERROR = -1,              /* the search has set the reason */
  NEXT_END,                     /* there is none */
  NEXT_FOUND,
};

#endif /* BLKSUM_EXTENT_H */
