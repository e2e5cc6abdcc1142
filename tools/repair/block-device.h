/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Information about block devices from /sys on Linux.
 */

#ifndef BLKSUM_BLOCK_DEVICE_H
#define BLKSUM_BLOCK_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The backing file of a loop device: a regular file or a block device. */
struct loop_file {
  dev_t device;                 /* the backing block device, or 0 */
  dev_t dev;                    /* st_dev of the backing file */
  ino_t ino;                    /* st_ino of the backing file */
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

/* Call FUNCTION for each device directly below DEV, such as the disks of an md
 * or dm device, until FUNCTION returns non-zero.  If DEV is a partition, these
 * are the devices below its disk.  Returns the last return value of FUNCTION,
 * or 0 if FUNCTION was not called.
 */
int block_device_each_slave (dev_t dev,
                             int (*function) (void *opaque, dev_t slave),
                             void *opaque);

/* Same as block_device_each_slave, for each disk of this host. */
int block_device_each_disk (int (*function) (void *opaque, dev_t disk),
                            void *opaque);

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
bool block_device_loop_file (int fd, struct loop_file *file);

/* Returns the offset in bytes at which DEV, a loop device or a partition of
 * one, starts in its backing file.
 */
uint64_t block_device_loop_start (dev_t dev);

#endif /* BLKSUM_BLOCK_DEVICE_H */
