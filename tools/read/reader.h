/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Threads that read an image and fill a leaf table.  What an image is, and what
 * is behind an offset, is for its user to know.
 */

#ifndef BLKSUM_READER_H
#define BLKSUM_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/cursor.h"

struct error;
struct fill;
struct range;
struct source_options;

#define READER_ZERO 1

/* What the threads ask.  Each returns 0, or -1 with the reason in ERROR. */
struct reader_image {
  uint64_t size;                /* bytes */
  void *opaque;                 /* for the functions */

  /* Where is it zero?  NULL: nobody knows.  One thread at a time. */
  extent_function extent_at;

  /* The flags of RANGE, which is data and was handed out now: extent_at was
   * asked for all of it, and perhaps for what is behind it.  One thread at a
   * time.  Can be NULL.
   */
  unsigned (*range_flags) (void *opaque, const struct range *range);

  /* Read RANGE into BUF, which is aligned for direct I/O and has room for
   * whole pages; with READS_TWICE for as many again.  It can be READER_ZERO
   * instead of 0: what is in BUF does not matter, RANGE is zero.  Any thread.
   */
  int (*read) (void *opaque, const struct range *range, void *buf,
               struct error *error);

  /* Instead of all of them, of what can only be read from its start to its end:
   * read what comes next into BUF, up to SIZE bytes, and set RANGE to it.  One
   * thread at a time.  1, 0 at the end, or -1.
   */
  int (*read_next) (void *opaque, void *buf, size_t size,
                    struct range *range, struct error *error);

  /* Called once, by the thread that called reader_fill, while the others are
   * reading already.  Can be NULL.
   */
  int (*begin) (void *opaque, struct error *error);

  /* When all threads have ended: can more be said than ERROR, of one of these
   * functions?  Not for reader_fill.  Can be NULL.
   */
  void (*refine_error) (void *opaque, struct error *error);

  bool reads_twice;
};

/* Read what is missing; of what has a read_next, all.  0, or -1 with the reason
 * in FILL.
 */
int reader_fill (const struct reader_image *image,
                 const struct source_options *options, struct fill *fill);

#endif /* BLKSUM_READER_H */
