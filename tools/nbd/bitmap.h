/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What a dirty bitmap of qemu, which an NBD export offers, says has changed.
 */

#ifndef BLKSUM_NBD_BITMAP_H
#define BLKSUM_NBD_BITMAP_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct nbd_handle;
struct ranges;

/* Connect NBD, a new handle that asks for nothing yet, to URI, for the bitmap
 * NAME and, if EXTENTS, for extents.  That there is no such bitmap is an error,
 * which names those that there are.  0 or -1.
 */
int nbd_bitmap_connect (struct nbd_handle *nbd, const char *uri,
                        const char *name, bool extents, struct error *error);

/* Read the bitmap NAME of NBD, which was connected so.  The image is the first
 * SIZE bytes of the export.  What changed is added to RANGES, which are none
 * before, and sorted then.  0, or -1 with the reason, and RANGES are none.
 */
int nbd_bitmap_read (struct nbd_handle *nbd, const char *name, uint64_t size,
                     struct ranges *ranges, struct error *error);

#endif /* BLKSUM_NBD_BITMAP_H */
