/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The grain directories of the vmdk formats of ESX, which are looked at for
 * nothing but their size.
 */

#ifndef BLKSUM_VMDK_DIRECTORY_H
#define BLKSUM_VMDK_DIRECTORY_H

#include <stdint.h>

#include "format/imagefile.h"

/* Check that the file holds the directory, and set *MEMORY to its size in
 * bytes: of an image that starts with "COWD", and of a SESPARSE extent.  0 or
 * -1.
 */
int vmdk_cowd_directory (const struct imagefile *file, uint64_t *memory,
                         struct error *error);
int vmdk_sesparse_directory (const struct imagefile *file, uint64_t *memory,
                             struct error *error);

#endif /* BLKSUM_VMDK_DIRECTORY_H */
