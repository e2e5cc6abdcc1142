/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The layers of a disk: all files and block devices that have its content, or of
 * which it is made.
 */

#ifndef BLKSUM_DISK_LAYERS_H
#define BLKSUM_DISK_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "io/block-device.h"

#define MAX_DISK_LAYERS 256

struct disk_layer {
  dev_t number;                 /* of a block device; otherwise 0 */
  dev_t whole;                  /* its disk, if it is a partition; or NUMBER */
  dev_t dev;                    /* of a regular file: where it is, */
  ino_t ino;                    /* and its number there */
};

struct disk_layers {
  struct disk_layer layer[MAX_DISK_LAYERS]; /* the first is the disk itself */
  size_t count;
  bool incomplete;              /* there are more */
};

/* Add a device or a regular file, and what is below it. */
void disk_layers_add_device (struct disk_layers *layers, dev_t number);
void disk_layers_add_file (struct disk_layers *layers, dev_t dev, ino_t ino);

/* The same for the file of a loop device. */
void disk_layers_add_loop_file (struct disk_layers *layers,
                                const struct loop_file *file);

/* Is the device or file one of LAYERS? */
bool disk_layers_have_device (const struct disk_layers *layers, dev_t number);
bool disk_layers_have_file (const struct disk_layers *layers, dev_t dev,
                            ino_t ino);

/* Has the device NUMBER bytes in common with one of LAYERS?  A partition has with its
 * disk, but not with another partition.
 */
bool disk_layers_overlap (const struct disk_layers *layers, dev_t number);

#endif /* BLKSUM_DISK_LAYERS_H */
