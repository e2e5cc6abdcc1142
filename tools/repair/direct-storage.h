/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check whether direct I/O to a file or block device reaches its storage.
 *
 * Many file systems accept O_DIRECT but use the page cache, some of them only
 * for certain files, such as compressed files on btrfs.  Reading back from the
 * page cache would prove nothing.  Therefore only file systems whose direct
 * I/O is known to bypass the page cache are accepted, and only if the kernel
 * reports that the file supports direct I/O.  On ext4, for example, a file
 * with journaled data does not.
 *
 * The physical sectors of a drive can be larger than its logical sectors
 * ("512e").  To write a part of a physical sector, the drive reads and
 * rewrites the whole sector, and a power failure at that moment can destroy
 * good adjacent blocks.  Therefore only whole physical sectors are written.
 *
 * A loop device must use direct I/O, because otherwise it reads from the page
 * cache of its backing file.  With direct I/O it is as good as that file, and a
 * file system on the loop device is as good as the loop device.  Other stacked
 * devices, such as those of dm and md, are trusted to pass on flushes and to
 * read from the devices below them, so they are as good as those devices.
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
