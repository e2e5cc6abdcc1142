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

/* Returns where DEV begins in the file of its loop device, in bytes. */
uint64_t block_device_loop_start (dev_t dev);

#endif /* BLKSUM_BLOCK_DEVICE_H */
