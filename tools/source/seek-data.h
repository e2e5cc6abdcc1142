/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Find the first data at or after an offset of a source.
 */

#ifndef BLKSUM_SEEK_DATA_H
#define BLKSUM_SEEK_DATA_H

#include <stdint.h>

struct error;
struct scan;
struct source;

/* Execute SCAN, a search for data up to source->full_size, which must be known:
 * set *OFFSET to the first byte that is not zero.  Extents of zeros are not
 * read.  After the byte is found no read starts, and reads in flight complete.
 *
 * Returns 1; 0 if there is no data; or -1 with the reason: a read failed, or
 * the source changed since it was opened.  SOURCE can only be closed then.
 */
int source_seek_data (struct source *source, struct scan *scan,
                      uint64_t *offset, struct error *error);

#endif /* BLKSUM_SEEK_DATA_H */
