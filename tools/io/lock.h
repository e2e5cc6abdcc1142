/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The image locks of qemu.
 */

#ifndef BLKSUM_LOCK_H
#define BLKSUM_LOCK_H

#include <stdbool.h>

struct error;

/* Take the locks that qemu takes to read an image, on FD, which is open for
 * reading.  They are held until FD is closed; meanwhile a VM that writes the
 * image cannot start.  If TAKE is false, only check the locks of other
 * programs; this is for an inherited descriptor, on which the locks would
 * outlive this process.  If the file system has no OFD locks, the image is
 * treated as unlocked.  Returns 0, or -1 with the reason if a program of qemu
 * may write the image.
 */
int lock_image (int fd, bool take, struct error *error);

/* Take the locks that qemu takes by default (without share-rw) to write an
 * image, on FD, which is open for reading.  If TAKE is false, only check the
 * locks of other programs.  Returns 0, or -1 with the reason.
 */
int lock_image_for_writing (int fd, bool take, struct error *error);

#endif /* BLKSUM_LOCK_H */
