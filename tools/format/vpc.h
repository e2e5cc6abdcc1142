/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Does a vpc (VHD) image stand alone?
 */

#ifndef BLKSUM_VPC_H
#define BLKSUM_VPC_H

#include "format/imagefile.h"

/* Refuse an image that has a parent, which qemu would leave out without a
 * word, or whose header asks for more memory than the file accounts for.
 * What is not a vpc image at all is left to qemu.  0 or -1.
 */
int vpc_check (const struct imagefile *file, struct error *error);

#endif /* BLKSUM_VPC_H */
