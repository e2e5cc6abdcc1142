/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image whose tables we read: its data is read from its file, and by qemu
 * only where that is not possible.
 */

#ifndef BLKSUM_SOURCE_DIRECT_H
#define BLKSUM_SOURCE_DIRECT_H

struct error;
struct qemu_image;
struct sum;

/* Hash the image of QI, which is not started, and will be stopped.  1; 0 if it
 * must be left to qemu; or -1 with the reason in ERROR.
 */
int source_direct_hash (struct qemu_image *qi, struct sum *sum,
                        struct error *error);

#endif /* BLKSUM_SOURCE_DIRECT_H */
