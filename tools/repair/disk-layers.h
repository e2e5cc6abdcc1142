/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The layers of a disk: the disk itself, and all files and block devices that
 * it is built on.
 *
 * A loop device, or a partition of one, is built on its backing file, and an
 * md or dm device is built on its slaves.  The device below the file system of
 * a regular file is not a layer: writes of the file system to other files do
 * not matter.
 */

#ifndef BLKSUM_DISK_LAYERS_H
#define BLKSUM_DISK_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "repair/block-device.h"

#define MAX_DISK_LAYERS 256

struct disk_layers {
  struct disk_file layer[MAX_DISK_LAYERS]; /* the first is the disk itself */
  size_t count;
  size_t same;                  /* the first layers that are the disk: 2 if it
                                 * is a loop device, with its backing file */
  bool incomplete;              /* there are more than MAX_DISK_LAYERS */
};

/* Find the layers of the disk that is open as FD, and whose status is ST. */
void disk_layers_init (struct disk_layers *layers, int fd,
                       const struct stat *st);

/* Add FILE, and all devices and files that it is built on.  FD is open on FILE,
 * or -1.
 */
void disk_layers_add (struct disk_layers *layers, const struct disk_file *file,
                      int fd);

/* Returns true if FILE is one of LAYERS, a partition of one, or the disk of a
 * partition in LAYERS.  Two partitions of a disk do not overlap.
 */
bool disk_layers_overlap (const struct disk_layers *layers,
                          const struct disk_file *file);

/* Returns true if the disks A and B are the same under any name, or one of them
 * is built on the other, as an md or dm device is built on its disks.  Two
 * devices that are built on the same disk, such as two logical volumes, are not
 * the same.  If a disk has more layers than can be recorded, it counts as the
 * same as any other.
 */
bool disk_layers_are_same (const struct disk_layers *a,
                           const struct disk_layers *b);

#endif /* BLKSUM_DISK_LAYERS_H */
