/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check whether a file or block device to be written is in use by others.
 *
 * Locks and exclusive use do not show all writers.  The image locks of qemu are
 * on the inode that qemu opened.  For a block device this is the inode of the
 * device node.  libvirt runs each qemu in a mount namespace with other device
 * nodes, so the locks of this qemu are not visible here.  And qemu does not
 * open a device exclusively.  But the device number is the same for all nodes,
 * in any mount namespace, so open devices are compared by number.
 *
 * Exclusive use of a block device, such as a mount, does not cover the backing
 * file of a loop device, or other loop devices with the same backing file.
 * Therefore writable loop devices are searched for.
 *
 * These writers are not found: processes of other users, unless this process
 * runs as root; processes in PID namespaces that /proc does not show; the
 * kernel, unless it uses a loop device exclusively, for example because of a
 * mount; and other hosts.
 *
 * Failing to read a file in /proc is an error, because it could describe a
 * file that is open for writing.  It is not an error if the process or thread
 * has ended, or if permission is denied and this process is not running as
 * root.  Permission denied to root is an error only without CAP_SYS_PTRACE.  If
 * root has this capability, a security module protects the other process, for
 * example the first process of a container, and there is nothing more to try.
 *
 * A thread can have a file descriptor table of its own, and the first thread
 * of a process can end before the others, so all threads are checked.  Most
 * threads share the table with the thread before them, and their files are not
 * read again.
 */

#ifndef BLKSUM_WRITERS_H
#define BLKSUM_WRITERS_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct error;

/* ---- Block devices, from /sys ---- */

/* The directory of a partition is a subdirectory of the directory of its disk,
 * and has fewer attributes.  Attributes that only the disk has are read from
 * the parent directory.
 */

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
 * or dm device; if DEV is a partition, of those below its disk.  Returns NULL
 * if there is none.
 */
DIR *block_device_slaves (dev_t dev);

/* Store the next device of LIST, which can be NULL, in *DEV.  Returns false at
 * the end, and closes LIST.
 */
bool block_device_next (DIR *list, dev_t *dev);

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

/* ---- Layers ---- */

/* The layers of a disk: the disk itself, and all files and block devices that
 * it is built on.
 *
 * A loop device, or a partition of one, is built on its backing file, and an
 * md or dm device is built on its slaves.  The device below the file system of
 * a regular file is not a layer: writes of the file system to other files do
 * not matter.
 */

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

/* Returns true if the disks A and B are the same under any name, or one of them
 * is built on the other, as an md or dm device is built on its disks.  Two
 * devices that are built on the same disk, such as two logical volumes, are not
 * the same.  If a disk has more layers than can be recorded, it counts as the
 * same as any other.
 */
bool disk_layers_are_same (const struct disk_layers *a,
                           const struct disk_layers *b);

/* ---- Writers ---- */

/* The layers of the disk FD, whose status is ST, are the disk itself, the files
 * and block devices that it is built on, and the writable loop devices that are
 * backed by one of these.  Check that no other process has any of the following
 * open for writing: a layer, a partition of a layer, or, if a layer is a
 * partition, the device that has this partition.  Check also that none of these
 * loop devices is in exclusive use, for example mounted; one that is the disk,
 * or that the disk is built on or is a partition of, is not checked.  Returns
 * 0, or -1 with the reason in ERROR.
 */
int writers_check (int fd, const struct stat *st, struct error *error);

#endif /* BLKSUM_WRITERS_H */
