/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What Linux says of a block device in /sys.
 */

#ifndef BLKSUM_BLOCK_DEVICE_H
#define BLKSUM_BLOCK_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct loop_file {
  dev_t device;                 /* of a block device; otherwise 0 */
  dev_t dev;                    /* where the file is, */
  ino_t ino;                    /* and its number there */
};

/* Does /sys know DEV? */
bool block_device_exists (dev_t dev);

/* Store the first line of an attribute of DEV in TEXT, which has room for SIZE
 * bytes.  False if there is none.
 */
bool block_device_attribute (dev_t dev, const char *name, char *text,
                             size_t size);

/* The same for an attribute of the disk, of which DEV can be a partition, such as
 * "queue/rotational".
 */
bool block_device_disk_attribute (dev_t dev, const char *name, char *text,
                                  size_t size);

/* Call FUNCTION for each device of which DEV, or the disk of the partition DEV, is made,
 * such as the disks of an md or dm device, until it does not return 0.  Returns what it
 * returned last, or 0.
 */
int block_device_each_slave (dev_t dev,
                             int (*function) (void *opaque, dev_t slave),
                             void *opaque);

/* The same for each disk of this host. */
int block_device_each_disk (int (*function) (void *opaque, dev_t disk),
                            void *opaque);

/* Returns the disk of the partition DEV; or DEV, if it is no partition. */
dev_t block_device_whole (dev_t dev);

/* Store the name of DEV below /dev in NODE, which has room for SIZE bytes.  False if
 * /sys has none.
 */
bool block_device_node (dev_t dev, char *node, size_t size);

/* Open DEV by that name for reading, with FLAGS, such as O_EXCL.  Returns a
 * descriptor; or -1 with errno if that is not possible, or opens another device.
 */
int block_device_open (dev_t dev, int flags);

/* Find the file of the loop device FD, or of that of the partition FD.  False if it
 * is no loop device, or one without a file.
 */
bool block_device_loop_file (int fd, struct loop_file *file);

/* Returns where DEV begins in the file of its loop device, in bytes. */
uint64_t block_device_loop_start (dev_t dev);

#endif /* BLKSUM_BLOCK_DEVICE_H */
