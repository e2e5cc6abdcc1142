/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A reader of an image or a stream.  The caller provides the functions that
 * find where the image is stored, and read what only the caller can read.
 *
 * Each thread takes the next range and reads it, or passes a range that was
 * read to the leaf table, which hashes it: see reader.h.  A thread is started
 * when there is work for another one.  io_uring was not faster than such
 * threads: see docs/blksum-performance.md.
 */

#ifndef BLKSUM_IMAGE_READER_H
#define BLKSUM_IMAGE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/reader-ranges.h"

struct source_options;

#define IMAGE_ZERO 1            /* see READ */

/* Functions that the threads call.  They return 0, or -1 with the reason in
 * ERROR, unless stated otherwise.
 */
struct image_ops {
  uint64_t size;                /* bytes */
  void *opaque;                 /* for the functions */

  /* Finds the extents, with their places.  NULL if they are unknown.  Called by
   * one thread at a time.
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
   * IMAGE_ZERO instead of 0 if RANGE is zero; then BUF is ignored.
   */
  int (*read) (void *opaque, const struct range *range, void *buf,
               struct error *error);

  /* For a stream, used instead of the functions above.  Read up to SIZE bytes
   * into BUF, and set RANGE to their place in the image.  Called by one thread
   * at a time.
   */
  enum next_range (*read_next) (void *opaque, void *buf, size_t size,
                                struct range *range, struct error *error);

  /* Called once, by the thread that called image_reader_scan.  Meanwhile other
   * threads may already read.  Can be NULL.
   */
  int (*begin) (void *opaque, struct error *error);

  /* Replace ERROR, which is from one of these functions, by a better reason if
   * there is one.  Called by the caller of image_reader_scan, after that has
   * returned.  Can be NULL.
   */
  void (*refine_error) (void *opaque, struct error *error);

  bool reads_two_images;        /* it is a pair of images */
};

/* Read RANGE of IMAGE into BUF: what is in a file from there, the rest with the
 * function read of IMAGE.  RANGE can be one of a pair in which IMAGE is number
 * I; otherwise I is 0.  BUF is aligned for direct I/O, and has room for the
 * length of RANGE, rounded up to whole pages.  Returns 0 or -1.  Thread-safe.
 */
int image_reader_read (const struct image_ops *image, const struct range *range,
                       unsigned i, void *buf, struct error *error);

/* Read the missing ranges, or the whole stream if there is a read_next.  The
 * calling thread reads too; the other threads have ended when this returns.
 * Returns 0; or -1, with the reason in SCAN or, if the scan was canceled,
 * without a reason.
 */
int image_reader_scan (const struct image_ops *image,
                       const struct source_options *options, struct scan *scan);

#endif /* BLKSUM_IMAGE_READER_H */
