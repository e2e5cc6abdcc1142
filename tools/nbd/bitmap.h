/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Read a dirty bitmap of qemu from an NBD export.  The functions are called by
 * one thread at a time, before the image is read.
 */

#ifndef BLKSUM_NBD_BITMAP_H
#define BLKSUM_NBD_BITMAP_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct nbd_handle;
struct ranges;

/* Connect NBD, a new handle without meta contexts, to URI.  Negotiate the meta
 * context of the bitmap NAME and, if EXTENTS is set, "base:allocation".  If
 * there is no such bitmap, the error lists those that the server offers.
 * Returns 0 or -1.
 */
int nbd_bitmap_connect (struct nbd_handle *nbd, const char *uri,
                        const char *name, bool extents, struct error *error);

/* Read the bitmap NAME over NBD, after nbd_bitmap_connect for the same bitmap.
 * The image is the first SIZE bytes of the export.  RANGES, which must be
 * empty, receives the dirty ranges, sorted.  Returns 0; or -1 with the reason,
 * and then RANGES is empty.
 */
int nbd_bitmap_read (struct nbd_handle *nbd, const char *name, uint64_t size,
                     struct ranges *ranges, struct error *error);

#endif /* BLKSUM_NBD_BITMAP_H */
