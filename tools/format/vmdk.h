/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sparse vmdk images: do they stand alone, and are they complete?
 */

#ifndef BLKSUM_VMDK_H
#define BLKSUM_VMDK_H

#include <stdbool.h>
#include <stdint.h>

#include "format/imagefile.h"

/* Is this a sparse image, which has its data in itself, and not a text
 * descriptor or an image of ESX?  HEAD is the first 4 bytes.
 */
bool vmdk_is_sparse (const unsigned char *head);

/* Check that a sparse image names no other file: it has a size, and its
 * descriptor has no parent and no extent but the image.  0 or -1.
 */
int vmdk_check_alone (const struct imagefile *file, struct error *error);

/* Check that all grains of a sparse image lie inside the file: qemu reads
 * what does not as zeros and reports success.  0 or -1.
 */
int vmdk_check (const struct imagefile *file, struct error *error);

/* The same, and set *MEMORY to the bytes that qemu needs for the directories of
 * the image.
 */
int vmdk_check_and_count (const struct imagefile *file, uint64_t *memory,
                          struct error *error);

#endif /* BLKSUM_VMDK_H */
