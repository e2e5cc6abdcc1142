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
 * the disk, in order.  After the entries of each chunk of blocks there is an
 * additional entry, which is used only by images with a parent.
 */
#define VHDX_BAT_NAME "the block allocation table"
#define VHDX_ENTRY 8            /* size of an entry in bytes */
#define VHDX_STATE 7            /* mask of the state; the next macro is the
                                 * mask of the offset */
#define VHDX_OFFSET (~UINT64_C (0xfffff))

/* States of a block.  All other values are invalid. */
enum {
  VHDX_NOT_PRESENT = 0,
  VHDX_UNDEFINED = 1,
  VHDX_ZERO = 2,
  VHDX_UNMAPPED = 3,
  VHDX_UNMAPPED_OLD = 5,        /* as in version 0.95 of the specification */
  VHDX_PRESENT = 6,
  VHDX_PARTIALLY_PRESENT = 7    /* the rest of the block is in the parent */
};

struct vhdx {
  uint64_t size;                /* size of the disk in bytes, up to 64 TiB */
  uint64_t bat;                 /* offset of the BAT in the file */
  uint32_t block_size;          /* in bytes: a power of two, 1 MiB to 256 MiB */
  uint32_t chunk;               /* number of blocks in a chunk */
};

/* Returns the kind of the block that ENTRY maps, or RUN_QEMU if the block is
 * partially present, or the entry is invalid.  The specification does not
 * define the content of undefined and unmapped blocks; they are RUN_ZEROS
 * because qemu reads zeros.
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
    return entry & VHDX_OFFSET ? RUN_DATA : RUN_QEMU;
  default:
    return RUN_QEMU;
  }
}

/* Returns the offset in the file of the entry of block N. */
static inline uint64_t
vhdx_entry_at (const struct vhdx *vhdx, uint64_t n)
{
  return vhdx->bat + (n + n / vhdx->chunk) * VHDX_ENTRY;
}

/* Parse the image into *VHDX.  Check that each present block lies inside the
 * file, and that no block is partially present or invalid.  qemu (7.2) refuses
 * a block outside the file with the error "Invalid argument", and reports a
 * partially present or invalid block only as a read error.  Returns 0, or -1 on
 * error.
 */
int vhdx_check (const struct imagefile *file, struct vhdx *vhdx,
                struct error *error);

#endif /* BLKSUM_VHDX_H */
