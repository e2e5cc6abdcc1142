/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that the file of a vdi image is complete.
 */

#ifndef BLKSUM_VDI_H
#define BLKSUM_VDI_H

#include "format/imagefile.h"

/* Check that all blocks of the image lie inside the file.  qemu reads blocks
 * outside of the file as zeros, and reports success.  Returns 0 and sets *SIZE
 * to the size of the disk in bytes, or returns -1 on error.
 */
int vdi_check (const struct imagefile *file, uint64_t *size,
               struct error *error);

#endif /* BLKSUM_VDI_H */
