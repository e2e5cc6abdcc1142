/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An image whose tables are read here.  Its data is read from its files.  qemu
 * reads only what cannot be read so.
 */

#ifndef BLKSUM_SOURCE_DIRECT_H
#define BLKSUM_SOURCE_DIRECT_H

struct error;
struct qemu_image;
struct source;

/* Open QI, which is not started.  Returns 1, and the source owns QI; 0 if qemu
 * has to read all of the image; or -1.
 */
int direct_open (const struct qemu_image *qi, struct source **source,
                 struct error *error);

#endif /* BLKSUM_SOURCE_DIRECT_H */
