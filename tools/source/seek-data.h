/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where a disk is not zero.
 */

#ifndef BLKSUM_SEEK_DATA_H
#define BLKSUM_SEEK_DATA_H

#include <stdint.h>

struct error;
struct fill;
struct source;

/* Carry out FILL, an order to look for data up to the end of the disk,
 * source->full_size, which must be known: set OFFSET to the first byte that is
 * not zero.  What is known to be zero is not read, and nothing behind that byte
 * is, but what was in flight.
 *
 * 1; 0 if there is none; or -1 with the reason: it could not be read, or is not
 * what it was when it was opened.  Now SOURCE can only be closed.
 */
int source_seek_data (struct source *source, struct fill *fill,
                      uint64_t *offset, struct error *error);

#endif /* BLKSUM_SEEK_DATA_H */
