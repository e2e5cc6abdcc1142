/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Does direct I/O bypass the page cache?
 */

#ifndef BLKSUM_DIRECT_IO_H
#define BLKSUM_DIRECT_IO_H

#include <stdbool.h>

/* FD was opened with O_DIRECT.  Returns true if reads that are aligned to
 * READ_ALIGN bypass the page cache, as far as the file system says.
 */
bool direct_io_works (int fd);

#endif /* BLKSUM_DIRECT_IO_H */
