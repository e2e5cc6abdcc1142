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

#include <sys/stat.h>

struct error;

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
