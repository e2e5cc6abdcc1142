/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The layers of a disk: the disk itself, and all files and block devices that
 * it is built on.
 */

#ifndef BLKSUM_DISK_LAYERS_H
#define BLKSUM_DISK_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "repair/block-device.h"

struct files;

#define MAX_DISK_LAYERS 256

struct disk_layer {
  dev_t number;                 /* of a block device, or 0 for a file */
  dev_t whole;                  /* the device that has the partition NUMBER; if
                                 * NUMBER is not a partition, NUMBER */
  dev_t dev;                    /* st_dev of a regular file */
  ino_t ino;                    /* st_ino of a regular file */
};

struct disk_layers {
  struct disk_layer layer[MAX_DISK_LAYERS]; /* the first is the disk itself */
  size_t count;
  bool incomplete;              /* there are more than MAX_DISK_LAYERS */
};

/* Add a block device, and all devices and files that it is built on. */
void disk_layers_add_device (struct disk_layers *layers, dev_t number);

/* Add the regular file or block device FILE, such as the backing file of a loop
 * device.  If FILE is a device, add all devices and files that it is built on.
 * The device below the file system of a regular file is not added.
 */
void disk_layers_add_loop_file (struct disk_layers *layers,
                                const struct loop_file *file);

/* Return true if the device or file is one of LAYERS. */
bool disk_layers_have_device (const struct disk_layers *layers, dev_t number);
bool disk_layers_have_file (const struct disk_layers *layers, dev_t dev,
                            ino_t ino);

/* Returns true if the device NUMBER is one of LAYERS, a partition of one, or
 * the disk of a partition in LAYERS.  Two partitions of a disk do not overlap.
 */
bool disk_layers_overlap (const struct disk_layers *layers, dev_t number);

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

#endif /* BLKSUM_DISK_LAYERS_H */
