/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Is the file of a vhdx image complete?
 */

#ifndef BLKSUM_VHDX_H
#define BLKSUM_VHDX_H

#include "imagefile.h"

/* Check what qemu does not check when it opens the image.  0 or -1. */
int vhdx_check (const struct imagefile *file, struct error *error);

#endif /* BLKSUM_VHDX_H */
