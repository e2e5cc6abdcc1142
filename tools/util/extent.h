/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parts of a disk.
 */

#ifndef BLKSUM_EXTENT_H
#define BLKSUM_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

/* From some offset on, LEN bytes (at least 1, and it may be more than there
 * is) are known to be zero, or not.
 */
struct extent {
  uint64_t len;
  bool zero;
};

struct range {
  uint64_t offset, len;         /* bytes */
  bool zero;                    /* it need not be read */
  unsigned flags;               /* of the image, for when it is read */
};

#endif /* BLKSUM_EXTENT_H */
