/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A layer in the vmdk format, and the files that its descriptor names.
 */

#ifndef BLKSUM_LAYER_VMDK_H
#define BLKSUM_LAYER_VMDK_H

struct error;
struct files;
struct imagefile;

/* Check that the image in FILE, at PATH, and its extents are complete.  The
 * extents are opened and added to FILES.  The backing file is not checked.
 * Returns 0, or -1 on error.
 */
int layer_vmdk_check (const struct imagefile *file, const char *path,
                      struct files *files, struct error *error);

#endif /* BLKSUM_LAYER_VMDK_H */
