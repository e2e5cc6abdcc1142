/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check whether two paths or descriptors refer to the same file or block
 * device, under any name.
 */

#ifndef BLKSUM_DISK_ID_H
#define BLKSUM_DISK_ID_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct disk_layers;
struct files;

/* The identity of a file or block device.  For a loop device, DEVICE, DEV and
 * INO are those of its backing file.
 */
struct disk_id {
  dev_t number;                 /* the block device itself, or 0 */
  dev_t device;                 /* the (backing) block device, or 0 */
  dev_t dev;                    /* st_dev of the regular file */
  ino_t ino;                    /* st_ino of the regular file */
};

/* Returns the identity of the open file FD, whose status is ST. */
struct disk_id disk_id_of (int fd, const struct stat *st);

/* Same as disk_id_of, for PATH.  Returns false if PATH cannot be opened. */
bool disk_id_of_path (const char *path, struct disk_id *id);

/* Add the file or device ID, and all files and devices below it, to LAYERS. */
void disk_id_find_layers (const struct disk_id *id,
                          struct disk_layers *layers);

/* Returns true if A and B are the same, or one of them is built on the other,
 * as an md or dm device is built on its disks.  Two devices that are built on
 * the same disk, such as two logical volumes, are not the same.  If a device
 * has more layers than can be recorded, it counts as the same as any other.
 */
bool disk_id_is_same (const struct disk_id *a, const struct disk_id *b);

/* Returns true if ID is the same as one of FILES, which can be NULL. */
bool disk_id_is_in (const struct disk_id *id, const struct files *files);

#endif /* BLKSUM_DISK_ID_H */
