/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Information about block devices from /sys on Linux.
 *
 * The directory of a partition is a subdirectory of the directory of its disk,
 * and has fewer attributes.  Attributes that only the disk has are read from
 * the parent directory.
 */

#ifndef BLKSUM_BLOCK_DEVICE_H
#define BLKSUM_BLOCK_DEVICE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A regular file or block device.  Devices are compared by device number,
 * because a device can have several nodes, also in other mount namespaces.
 */
struct disk_file {
  dev_t device;                 /* number of the block device, or 0 */
  dev_t dev;                    /* of a regular file: st_dev */
  ino_t ino;                    /* of a regular file: st_ino */
};

/* Returns true if DEV is in /sys. */
bool block_device_exists (dev_t dev);

/* Store the first line of the attribute NAME of DEV in TEXT, which has room
 * for SIZE bytes.  Returns false if the attribute cannot be read.
 */
bool block_device_attribute (dev_t dev, const char *name, char *text,
                             size_t size);

/* Same as block_device_attribute, but if DEV is a partition that does not have
 * the attribute, use that of its disk.  An example is "queue/rotational".
 */
bool block_device_disk_attribute (dev_t dev, const char *name, char *text,
                                  size_t size);

/* Open the list of the devices directly below DEV, such as the disks of an md
 * or dm device; if DEV is a partition, of those below its disk.  Or that of all
 * disks of this host.  Returns NULL if there is none.
 */
DIR *block_device_slaves (dev_t dev);
DIR *block_device_disks (void);

/* Store the next device of LIST, which can be NULL, in *DEV.  Returns false at
 * the end, and closes LIST.
 */
bool block_device_next (DIR *list, dev_t *dev);

/* Returns the disk that has the partition DEV, or DEV if it is not a
 * partition.
 */
dev_t block_device_whole (dev_t dev);

/* Store the path of the device node of DEV below /dev in NODE, which has room
 * for SIZE bytes.  Returns false if /sys has no name for DEV.
 */
bool block_device_node (dev_t dev, char *node, size_t size);

/* Open the device node of DEV for reading, with additional FLAGS for open(2),
 * such as O_EXCL.  Returns a file descriptor, or -1 with errno set if the node
 * cannot be opened or is not the node of DEV.
 */
int block_device_open (dev_t dev, int flags);

/* Store the backing file of a loop device in FILE.  FD is open on the loop
 * device or on a partition of it.  Returns false if FD is on neither, or if the
 * loop device has no backing file.
 */
bool block_device_loop_file (int fd, struct disk_file *file);

/* Returns the offset in bytes at which DEV, a loop device or a partition of
 * one, starts in its backing file.
 */
uint64_t block_device_loop_start (dev_t dev);

#endif /* BLKSUM_BLOCK_DEVICE_H */
