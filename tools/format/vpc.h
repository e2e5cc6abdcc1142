/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a vpc (VHD) image has no parent.
 */

#ifndef BLKSUM_VPC_H
#define BLKSUM_VPC_H

#include "format/imagefile.h"

/* Refuse an image that has a parent, which qemu would omit without an error, or
 * whose header requires more memory than the size of the file justifies.  An
 * image that is not a vpc at all is left to qemu.  0 or -1.
 */
int vpc_check (const struct imagefile *file, struct error *error);

#endif /* BLKSUM_VPC_H */
