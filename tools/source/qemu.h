/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image that qemu reads.
 */

#ifndef BLKSUM_SOURCE_QEMU_H
#define BLKSUM_SOURCE_QEMU_H

struct error;
struct qemu_image;
struct source;

/* Start the qemu-nbd of QI, which was not started before, and connect to it.
 * If this succeeds, the source owns all that QI owned.  Returns 0 or -1.
 */
int qemu_open (const struct qemu_image *qi, struct source **source,
               struct error *error);

#endif /* BLKSUM_SOURCE_QEMU_H */
