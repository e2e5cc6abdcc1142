/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check whether a file or block device to be written is in use by others.
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
