/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Does direct I/O of a file or block device reach its storage?
 */

#ifndef BLKSUM_DIRECT_STORAGE_H
#define BLKSUM_DIRECT_STORAGE_H

#include <stdint.h>

struct error;

/* Check that direct I/O of FD, a regular file or block device, does not use the
 * page cache, as far as that is known.  Offsets and lengths that are multiples of
 * *ALIGN can be written without reading what is beside them.  0, or -1 with the
 * reason.
 */
int direct_storage_check (int fd, uint32_t *align, struct error *error);

#endif /* BLKSUM_DIRECT_STORAGE_H */
