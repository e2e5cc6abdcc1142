/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check that a sparse vmdk image names no other file, and is not truncated.
 */

#ifndef BLKSUM_VMDK_H
#define BLKSUM_VMDK_H

#include <stdbool.h>
#include <stdint.h>

#include "format/imagefile.h"

/* Returns true if a file that begins with the 4 bytes HEAD is a sparse image
 * (magic "KDMV").  Other vmdk files are a text descriptor, whose data is in
 * other files, or an image of ESX.  The second function returns true if it is
 * one of the type vmfsSparse (magic "COWD").
 */
bool vmdk_is_sparse (const unsigned char *head);
bool vmdk_is_cowd (const unsigned char *head);

/* Refuse FILE, an image of ESX of the type TYPE.  Returns -1. */
int vmdk_refuse_esx (const struct imagefile *file, const char *type,
                     struct error *error);

/* Check that a sparse image has no parent, and no data in other files.  Returns
 * 0; or -1 if this is not true, or on another error.
 */
int vmdk_check_self_contained (const struct imagefile *file,
                               struct error *error);

/* Check that all grains of a sparse image are inside the file, because qemu
 * reads grains beyond the end of the file as zeros, without an error.  Refuse
 * compressed grains for which qemu would need too much memory.  Returns 0, or
 * -1 on error.
 */
int vmdk_check (const struct imagefile *file, struct error *error);

/* The same as vmdk_check.  Also stores in *MEMORY the number of bytes of memory
 * that qemu needs for the grain directories of the image.
 */
int vmdk_check_and_count (const struct imagefile *file, uint64_t *memory,
                          struct error *error);

#endif /* BLKSUM_VMDK_H */
