/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Extents and ranges of an image.
 */

#ifndef BLKSUM_EXTENT_H
#define BLKSUM_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

/* An extent of LEN bytes, whose offset the caller knows.  If ZERO is set, it
 * reads as zeros; otherwise its content is unknown.  LEN is at least 1, and the
 * extent can end beyond the end of the image.
 */
struct extent {
  uint64_t len;
  bool zero;
};

struct range {
  uint64_t offset, len;         /* bytes */
  bool zero;                    /* it reads as zeros */
  unsigned flags;               /* set by range_flags of struct reader_image,
                                 * for its function read */
};

#endif /* BLKSUM_EXTENT_H */
