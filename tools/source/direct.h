/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A source that parses the tables of an image, and reads the data from the
 * files of the image.  qemu reads only the data that cannot be read directly.
 */

#ifndef BLKSUM_SOURCE_DIRECT_H
#define BLKSUM_SOURCE_DIRECT_H

struct error;
struct qemu_image;
struct source;

/* Open QI, and start its qemu-nbd, which was not started before.  Returns 1; 0
 * if qemu must read the whole image; or -1.  The source copies QI.  If the
 * result is 1, the source owns the members of QI; otherwise the caller still
 * owns them, and qemu-nbd was not started.
 */
int direct_open (const struct qemu_image *qi, struct source **source,
                 struct error *error);

#endif /* BLKSUM_SOURCE_DIRECT_H */
