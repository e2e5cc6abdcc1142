/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The options that say how images are opened and read.  All code that reads an
 * image uses them.  Options of checksums and of output are elsewhere.
 */

#ifndef BLKSUM_SOURCE_OPTIONS_H
#define BLKSUM_SOURCE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct semaphore;

#define SOURCE_WHOLE UINT64_MAX
#define SOURCE_MEMORY (44 * 1024 * 1024) /* bytes: all reads in flight */

struct source_options {
  /* What to open. */
  const char *format;           /* NULL: probe */
  bool image_opts;              /* operands are options of qemu */
  char **objects;               /* --object DEF, NULL terminated */
  size_t nr_objects;
  bool force_share;
  bool refuse_sums;             /* refuse a file that looks like checksums */
  bool refuse_bitmaps;          /* refuse a probed qcow2 with bitmaps, for which
                                 * qemu-nbd can allocate much memory */
  uint64_t size;                /* of an image, bytes: the source must have as
                                 * many, and may have more; SOURCE_WHOLE: all of
                                 * it */
  const char *bitmap;           /* the dirty bitmap of an NBD export to read;
                                 * NULL: none */

  /* How to read it. */
  bool cache;                   /* leave what was read in the page cache */
  bool extents;                 /* query extents */
  unsigned threads;             /* that read and hash, 1 or more */
  struct semaphore *hashing;    /* of the threads that hash, if images share
                                 * them; or NULL */
  size_t memory;                /* of all buffers, bytes; see SOURCE_MEMORY */
  size_t read_size;             /* of a read over NBD, bytes */
  size_t queue_size;            /* on an NBD connection at most: bytes in
                                 * flight, */
  unsigned queue_depth;         /* requests in flight; 0: as many as help */
};

#endif /* BLKSUM_SOURCE_OPTIONS_H */
