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
 * file; or if the table is too large (see imagefile.h).  Otherwise returns 0,
 * also for a file that is not a vpc image: that is left to qemu.
 */
int vpc_check (const struct imagefile *file, struct error *error);

#endif /* BLKSUM_VPC_H */
