/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The locks of images that programs of qemu take and respect.
 */

#ifndef BLKSUM_LOCK_H
#define BLKSUM_LOCK_H

#include <stdbool.h>

struct error;

/* Lock the image FD, which is open for reading, as a reader in qemu does, until
 * FD is closed.  A VM that writes the image cannot start meanwhile.  TAKE is
 * false for an inherited descriptor, on which the lock would outlive this
 * process: then locks of others are only checked.  Returns -1 with the reason
 * if a program of qemu is writing the image.  If the file system has no OFD
 * locks, the image is treated as unlocked.
 */
int lock_image (int fd, bool take, struct error *error);

#endif /* BLKSUM_LOCK_H */
