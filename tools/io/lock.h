/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The locks by which programs of qemu agree who may use an image.
 */

#ifndef BLKSUM_LOCK_H
#define BLKSUM_LOCK_H

#include <stdbool.h>

struct error;

/* Lock the image FD, open for reading, as qemu does for a reader, until FD is
 * closed: a VM that wants to write it cannot start meanwhile.  For a
 * descriptor that was inherited, TAKE is false: the lock would outlive us.
 * -1 with the reason if a program of qemu is writing the image.  A file system
 * without locks is no error.
 */
int lock_image (int fd, bool take, struct error *error);

#endif /* BLKSUM_LOCK_H */
