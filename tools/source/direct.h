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
struct source;

/* Open QI, which is not started.  1, and it is the source's; 0 if it must be
 * left to qemu; or -1.
 */
int direct_open (const struct qemu_image *qi, struct source **source,
                 struct error *error);

#endif /* BLKSUM_SOURCE_DIRECT_H */
