/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a vpc (VHD) image has no parent, and limit the memory that qemu
 * allocates for it.
 */

#ifndef BLKSUM_VPC_H
#define BLKSUM_VPC_H

#include "format/imagefile.h"

/* Refuse an image that has a parent, which qemu would ignore without an error,
 * or whose header requires more memory than the size of the file justifies.  A
 * file that is not a vpc image is not checked here, but left to qemu.  Returns
 * 0, or -1 on error.
 */
int vpc_check (const struct imagefile *file, struct error *error);

#endif /* BLKSUM_VPC_H */
