/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check whether a file or block device to be written is in use by others.
 */

#ifndef BLKSUM_WRITERS_H
#define BLKSUM_WRITERS_H

#include <sys/stat.h>

struct error;

/* Check that no other process has any of these open for writing: the disk FD,
 * whose status is ST; a file or block device that the disk is built on; if one
 * of these is a partition, the device that has it; a partition of one of these;
 * or a writable loop device backed by one of these.  Check also that no such
 * loop device is in exclusive use, for example mounted, unless the disk is
 * built on it.  Returns 0, or -1 with the reason in ERROR.
 */
int writers_check (int fd, const struct stat *st, struct error *error);

#endif /* BLKSUM_WRITERS_H */
