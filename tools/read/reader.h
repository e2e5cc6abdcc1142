/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Threads that read an image, and hash what they read into a leaf table.  The
 * caller provides the functions that read the image.
 */

#ifndef BLKSUM_READER_H
#define BLKSUM_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/range-queue.h"

struct error;
struct range;
struct scan;
struct source_options;

#define READER_ZERO 1           /* see READ */

/* Functions that the threads call.  They return 0, or -1 with the reason in
 * ERROR, unless stated otherwise.
 */
struct reader_image {
  uint64_t size;                /* bytes */
  void *opaque;                 /* for the functions */

  /* Finds the extents: see cursor.h.  NULL if they are unknown.  Called by one
   * thread at a time.
   */
  extent_function extent_at;

  /* Returns the flags of RANGE, which is data.  Called when the cursor has
   * returned RANGE, so extent_at was already called for all of it.  Called by
   * one thread at a time.  Can be NULL.
   */
  unsigned (*range_flags) (void *opaque, const struct range *range);

  /* Read RANGE into BUF, which is aligned for direct I/O.  BUF has room for the
   * length of RANGE, rounded up to whole pages; with READS_TWO_IMAGES for twice
   * as much.  Can return READER_ZERO instead of 0 if RANGE is zero; then BUF is
   * ignored.  Several threads call it at the same time.
   */
  int (*read) (void *opaque, const struct range *range, void *buf,
               struct error *error);

  /* Returns 1 if one read can return FIRST and SECOND, because the data of
   * SECOND is stored directly after that of FIRST; 0 if not; or -1.  Both are
   * data, with their flags.  Called by one thread at a time.  Can be NULL.
   */
  int (*adjoin) (void *opaque, const struct range *first,
                 const struct range *second, struct error *error);

  /* Read LEN bytes into BUF: the data of RANGE, and of the ranges that adjoin
   * it.  Several threads call it at the same time.
   */
  int (*read_adjoining) (void *opaque, const struct range *range, uint64_t len,
                         void *buf, struct error *error);

  /* For a stream, used instead of the functions above.  Read up to SIZE bytes
   * into BUF, and set RANGE to their place in the image.  Called by one thread
   * at a time.  Returns 1; 0 at the end; or -1.
   */
  int (*read_next) (void *opaque, void *buf, size_t size,
                    struct range *range, struct error *error);

  /* Called once, by the thread that called reader_scan.  Meanwhile other
   * threads may already read.  Can be NULL.
   */
  int (*begin) (void *opaque, struct error *error);

  /* Replace ERROR, which is from one of these functions, by a better reason if
   * there is one.  Called by the caller of reader_scan, after reader_scan has
   * returned.  Can be NULL.
   */
  void (*refine_error) (void *opaque, struct error *error);

  bool reads_two_images;        /* READ needs a buffer of twice the length */
};

/* Read the missing ranges, or the whole stream if there is a read_next.  The
 * calling thread reads too; the other threads have ended when this returns.
 * Returns 0; or -1, with the reason in SCAN or, if the scan was canceled,
 * without a reason.
 */
int reader_scan (const struct reader_image *image,
                 const struct source_options *options, struct scan *scan);

#endif /* BLKSUM_READER_H */
