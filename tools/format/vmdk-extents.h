/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files that the descriptor of a vmdk image names as its extents, as qemu
 * parses the descriptor.
 */

#ifndef BLKSUM_VMDK_EXTENTS_H
#define BLKSUM_VMDK_EXTENTS_H

#include <stdint.h>

#include "format/imagefile.h"

struct vmdk_extent {
  char type[11];                /* FLAT, VMFS: raw (flat) data; others: a
                                 * vmdk */
  char name[512];               /* relative to the image's directory, or
                                 * absolute */
  uint64_t offset, size;        /* bytes; OFFSET is 0 unless TYPE is FLAT */
};

typedef int vmdk_extent_function (void *opaque,
                                  const struct vmdk_extent *extent,
                                  struct error *error);

/* Call FUNCTION for each extent that is another file.  It is not called for an
 * image that is its own extent.  Returns 0, or -1 on error.  It is an error if
 * FUNCTION returns -1, if qemu would omit an extent from the disk, or if the
 * descriptor ends with its extents, because then it is truncated.
 */
int vmdk_extents (const struct imagefile *file,
                  vmdk_extent_function *function, void *opaque,
                  struct error *error);

#endif /* BLKSUM_VMDK_EXTENTS_H */
