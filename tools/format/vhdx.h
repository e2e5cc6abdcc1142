/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Parse a vhdx image, and check that its file is complete.
 */

#ifndef BLKSUM_VHDX_H
#define BLKSUM_VHDX_H

#include <stdint.h>

#include "format/imagefile.h"
#include "format/run.h"

/* The block allocation table (BAT) has an entry of 64 bits for each block of
 * the disk, in order.  After each VHDX.CHUNK of them is another entry, which is
 * only used by images with a parent.
 */
#define VHDX_BAT_NAME "the block allocation table"
#define VHDX_ENTRY 8            /* bytes */
#define VHDX_STATE 7            /* a mask, as the next one */
#define VHDX_OFFSET (~UINT64_C (0xfffff))

/* States.  Any other is invalid. */
enum {
  VHDX_NOT_PRESENT = 0,
  VHDX_UNDEFINED = 1,
  VHDX_ZERO = 2,
  VHDX_UNMAPPED = 3,
  VHDX_UNMAPPED_OLD = 5,        /* in version 0.95 of the specification */
  VHDX_PRESENT = 6,
  VHDX_PARTIALLY_PRESENT = 7    /* the rest is in the parent */
};

struct vhdx {
  uint64_t size;                /* of the disk, up to 64 TiB */
  uint64_t bat;                 /* offset in the file */
  uint32_t block_size;          /* a power of two, 1 MiB to 256 MiB */
  uint32_t chunk;               /* blocks */
};

/* The kind of the block that ENTRY describes; RUN_OTHER if it is invalid.  It
 * is zeros if qemu reads zeros.  The specification does not define the content
 * of undefined and unmapped blocks.
 */
static inline enum run_kind
vhdx_kind (uint64_t entry)
{
  switch (entry & VHDX_STATE) {
  case VHDX_NOT_PRESENT:
  case VHDX_UNDEFINED:
  case VHDX_ZERO:
  case VHDX_UNMAPPED:
  case VHDX_UNMAPPED_OLD:
    return RUN_ZEROS;
  case VHDX_PRESENT:
    /* No block can be at offset 0, where the headers are. */
    return entry & VHDX_OFFSET ? RUN_DATA : RUN_OTHER;
  default:
    return RUN_OTHER;
  }
}

/* The offset in the file of the entry of block N. */
static inline uint64_t
vhdx_entry_at (const struct vhdx *vhdx, uint64_t n)
{
  return vhdx->bat + (n + n / vhdx->chunk) * VHDX_ENTRY;
}

/* Read the tables.  Checks what qemu does not check when it opens the image, or
 * reports without a reason: each present block lies inside the file, and no
 * block is partially present.  0 or -1.
 */
int vhdx_check (const struct imagefile *file, struct vhdx *vhdx,
                struct error *error);

#endif /* BLKSUM_VHDX_H */
