/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Limits of the grain directories of the vmdk formats of ESX.  Nothing else is
 * checked in these formats.
 */

#ifndef BLKSUM_VMDK_DIRECTORY_H
#define BLKSUM_VMDK_DIRECTORY_H

#include <stdint.h>

#include "format/imagefile.h"

/* Check that the file contains the grain directory, and set *MEMORY to its size
 * in bytes.  The first function is for an image that starts with "COWD", the
 * second for a SESPARSE extent.  Both return 0, or -1 on error.
 */
int vmdk_cowd_directory (const struct imagefile *file, uint64_t *memory,
                         struct error *error);
int vmdk_sesparse_directory (const struct imagefile *file, uint64_t *memory,
                             struct error *error);

#endif /* BLKSUM_VMDK_DIRECTORY_H */
