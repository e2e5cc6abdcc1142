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
#include <sys/types.h>

#include "repair/block-device.h"

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

#endif /* BLKSUM_DISK_LAYERS_H */
