/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Threads that read an image and fill a leaf table.  What an image is, and what
 * is behind an offset, is for its user to know.
 */

#ifndef BLKSUM_READER_H
#define BLKSUM_READER_H

#include <stddef.h>
#include <stdint.h>

#include "read/cursor.h"

struct error;
struct fill;
struct source_options;

/* What the threads ask.  Each returns 0, or -1 with the reason in ERROR. */
struct reader_image {
  uint64_t size;                /* bytes */
  void *opaque;                 /* for the functions */

  /* Where is it zero?  NULL: nobody knows.  One thread at a time. */
  extent_function extent_at;

  /* Read RANGE into BUF, which is aligned for direct I/O and has room for
   * whole pages.  Any thread.
   */
  int (*read) (void *opaque, const struct range *range, void *buf,
               struct error *error);

  /* Called once, by the thread that called reader_fill, while the others are
   * reading already.  Can be NULL.
   */
  int (*begin) (void *opaque, struct error *error);
};

/* Read what is missing.  0, or -1 with the reason in FILL. */
int reader_fill (const struct reader_image *image,
                 const struct source_options *options, struct fill *fill);

#endif /* BLKSUM_READER_H */
