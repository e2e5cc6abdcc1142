/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Threads that read an image, and hash what they read into a leaf table.  The
 * caller provides the functions that read the image.
 */

#ifndef BLKSUM_IMAGE_READER_H
#define BLKSUM_IMAGE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/reader-ranges.h"

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

  bool whole_pages;             /* the threads read only whole pages of files;
                                 * READ reads what is not aligned to them */
  bool joins;                   /* ranges that are not adjacent in the image can
                                 * be adjacent in a file */

  /* Read RANGE, whose place is not known, into BUF.  Several threads call it at
   * the same time.  What is in a file, the threads read without it.
   *
   * With READS_TWO_IMAGES it reads each range; the extents of RANGE have two
   * places each.  BUF is aligned for direct I/O, and has room for twice the
   * length of RANGE, rounded up to whole pages.  Only then it can return
   * READER_ZERO instead of 0 if RANGE is zero; then BUF is ignored.
   */
  int (*read) (void *opaque, const struct range *range, void *buf,
               struct error *error);

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

  bool reads_two_images;        /* IMAGE is a pair */
};

/* Read RANGE of IMAGE into BUF: what is in a file from there, the rest with the
 * function read of IMAGE.  Use place number I of each extent; the caller does
 * not call it for a range of two images.  BUF is aligned for direct I/O, and
 * has room for the length of RANGE, rounded up to whole pages.  Returns 0 or
 * -1.  Thread-safe.
 */
int reader_read (const struct reader_image *image, const struct range *range,
                 unsigned i, void *buf, struct error *error);

/* Read the missing ranges, or the whole stream if there is a read_next.  The
 * calling thread reads too; the other threads have ended when this returns.
 * Returns 0; or -1, with the reason in SCAN or, if the scan was canceled,
 * without a reason.
 */
int reader_scan (const struct reader_image *image,
                 const struct source_options *options, struct scan *scan);

#endif /* BLKSUM_IMAGE_READER_H */
