/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that sparse vmdk images name no other file, and are complete.
 */

#ifndef BLKSUM_VMDK_H
#define BLKSUM_VMDK_H

#include <stdbool.h>
#include <stdint.h>

#include "format/imagefile.h"

/* Is this a sparse image, which contains its data, and not a text descriptor or
 * an image of ESX?  HEAD is the first 4 bytes.
 */
bool vmdk_is_sparse (const unsigned char *head);

/* Check that a sparse image names no other file: its capacity is not 0, and its
 * descriptor has no parent and no extent other than the image itself.  Returns
 * 0, or -1 on error.
 */
int vmdk_check_alone (const struct imagefile *file, struct error *error);

/* Check that all grains of a sparse image lie inside the file.  qemu reads
 * grains outside of it as zeros, and reports success.  Returns 0, or -1 on
 * error.
 */
int vmdk_check (const struct imagefile *file, struct error *error);

/* The same, and also set *MEMORY to the number of bytes that qemu needs for the
 * grain directories of the image.
 */
int vmdk_check_and_count (const struct imagefile *file, uint64_t *memory,
                          struct error *error);

#endif /* BLKSUM_VMDK_H */
