/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a vpc (VHD) image is complete and has no parent, and limit the
 * memory that qemu allocates for it.
 */

#ifndef BLKSUM_VPC_H
#define BLKSUM_VPC_H

#include "format/imagefile.h"

/* Returns -1 with an error if the image has a parent, which qemu would ignore
 * silently, or an unexpected type; if its blocks or their table are not in the
 * file; if the table is too large (see imagefile.h); or if the size of the disk
 * contradicts the other copy of the footer, or the size of a fixed image.
 * Otherwise returns 0, and sets *SIZE to the size of the disk in bytes.  *SIZE
 * is 0 for a file that is not a vpc image: that is left to qemu.  Sets *WARNING
 * if qemu by default reads a disk of another size.
 */
int vpc_check (const struct imagefile *file, uint64_t *size,
               struct error *warning, struct error *error);

#endif /* BLKSUM_VPC_H */
