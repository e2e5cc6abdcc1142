/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What the user said of how images are opened and read.  Whoever reads one may
 * look here; of checksums and output nothing is here.
 */

#ifndef BLKSUM_SOURCE_OPTIONS_H
#define BLKSUM_SOURCE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SOURCE_WHOLE UINT64_MAX

struct source_options {
  /* What to open. */
  const char *format;           /* NULL: probe */
  bool image_opts;              /* operands are option strings of qemu */
  char **objects;               /* --object DEF, NULL terminated */
  size_t nr_objects;
  bool force_share;
  bool refuse_sums;             /* what looks like a file of checksums */
  uint64_t size;                /* of an image, bytes: there may be more, but
                                 * not less; SOURCE_WHOLE: all there is */
  const char *bitmap;           /* of an NBD export, to be read; NULL: none */

  /* How to read it. */
  bool cache;                   /* what was read stays in the page cache */
  bool extents;                 /* ask what is sparse */
  unsigned threads;             /* that read and hash, 1 or more */
  size_t read_size;             /* of NBD, bytes */
  size_t queue_size;            /* bytes in flight on an NBD connection, and */
  unsigned queue_depth;         /* requests, at most; 0: as many as help */
};

#endif /* BLKSUM_SOURCE_OPTIONS_H */
