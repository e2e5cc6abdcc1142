/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Options for opening and reading images, which all code that reads images
 * uses.
 */

#ifndef BLKSUM_SOURCE_OPTIONS_H
#define BLKSUM_SOURCE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define SOURCE_WHOLE UINT64_MAX
/* Maximum number of threads that hash an image.  That many also read it. */
#define SOURCE_MAX_THREADS 128
/* Memory of all buffers of an image, bytes.  Each of two images that are
 * compared has its own.
 */
#define SOURCE_MEMORY (108 * 1024 * 1024)

struct source_options {
  /* Options for opening an image. */
  const char *format;           /* image format; NULL to probe it */
  bool force_share;             /* open the image even if other programs can
                                 * write it */
  bool refuse_sums;             /* refuse a file that looks like a list of
                                 * checksums */
  uint64_t size;                /* size of the image in bytes, which must not
                                 * be larger than the source; SOURCE_WHOLE:
                                 * the whole source */
  /* Print a warning about NAME, an operand.  Any thread can call this. */
  void (*warn) (const char *name, const struct error *warning);
  const char *bitmap;           /* the dirty bitmap of an NBD export to read;
                                 * NULL: none */

  /* Options for reading it. */
  bool cache;                   /* leave the data that was read in the page
                                 * cache */
  bool extents;                 /* query extents */
  unsigned threads;             /* maximum number of threads that hash, 1 to
                                 * SOURCE_MAX_THREADS; more may wait in reads */
  size_t memory;                /* size of all buffers, bytes; at most
                                 * SOURCE_MEMORY */
  size_t read_size;             /* size of a read over NBD, bytes */
  size_t queue_size;            /* maximum number of bytes in flight on an
                                 * NBD connection; 0: no limit */
  unsigned queue_depth;         /* maximum number of requests in flight on an
                                 * NBD connection; 0: as many as help */
};

#endif /* BLKSUM_SOURCE_OPTIONS_H */
