/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reads of tables ahead of their use, where there is no page cache to read them
 * into.
 */

#ifndef BLKSUM_PREFETCH_H
#define BLKSUM_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is read is kept in pieces, a few MiB in all.  Reads are of whole pieces,
 * or end where the file does, so they can be direct.
 */
#define PREFETCH_PIECE 65536    /* bytes */
#define PREFETCH_COUNT 64

struct prefetch;

/* Returns NULL with errno set. */
struct prefetch *prefetch_new (void);

/* Waits for what is in flight.  NULL is allowed. */
void prefetch_free (struct prefetch *prefetch);

/* LEN bytes at OFFSET of FD, which has SIZE bytes, will be needed soon: start
 * to read them.  It may do nothing.  Any thread, as the next.
 */
void prefetch_start (struct prefetch *prefetch, int fd, uint64_t size,
                     size_t len, uint64_t offset);

/* Copy LEN bytes at OFFSET of FD to BUF, if they are being read or were.
 * Returns false if not, or if they cannot be read.
 */
bool prefetch_copy (struct prefetch *prefetch, int fd, void *buf, size_t len,
                    uint64_t offset);

#endif /* BLKSUM_PREFETCH_H */
