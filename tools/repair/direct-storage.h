/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check whether direct I/O to a file or block device reaches its storage.
 * direct-storage.c explains what is accepted.
 */

#ifndef BLKSUM_DIRECT_STORAGE_H
#define BLKSUM_DIRECT_STORAGE_H

#include <stdint.h>

struct error;

/* Check that direct I/O on FD, a regular file or block device, bypasses the
 * page cache, as far as the kernel reports that.  If FD is on a loop device,
 * check also that its backing file is not locked by a program of qemu.  Store
 * in *ALIGN the alignment, in bytes, that the offset and the length of a write
 * need, or else the drive or the file system would rewrite adjacent data too.
 * Returns 0, or -1 with the reason in ERROR.
 */
int direct_storage_check (int fd, uint32_t *align, struct error *error);

#endif /* BLKSUM_DIRECT_STORAGE_H */
