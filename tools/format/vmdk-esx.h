/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that images in the sparse vmdk formats of ESX are complete.
 */

#ifndef BLKSUM_VMDK_ESX_H
#define BLKSUM_VMDK_ESX_H

#include <stdint.h>

#include "format/imagefile.h"

/* Check that the file contains all grains, and that the grain directory maps
 * the whole disk.  *MEMORY is set to the size of the directory in bytes.  The
 * first function is for an image that starts with "COWD", the second for a
 * SESPARSE extent.  Both return 0, or -1 on error.
 */
int vmdk_cowd_check (const struct imagefile *file, uint64_t *memory,
                     struct error *error);
int vmdk_sesparse_check (const struct imagefile *file, uint64_t *memory,
                         struct error *error);

#endif /* BLKSUM_VMDK_ESX_H */
