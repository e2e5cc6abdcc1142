/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Prefetch the tables (the metadata) of an image.  This replaces the readahead
 * of the kernel for files that are read with direct I/O.
 */

#ifndef BLKSUM_PREFETCH_H
#define BLKSUM_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The cache has PREFETCH_COUNT pieces, 4 MiB in total.  Only whole pieces are
 * read, because direct I/O must be aligned; the last piece of a file can be
 * shorter.
 */
#define PREFETCH_PIECE 65536    /* bytes */
#define PREFETCH_COUNT 64

struct prefetch;

/* Returns NULL with errno set on failure. */
struct prefetch *prefetch_new (void);

/* Waits for reads in flight.  PREFETCH can be NULL. */
void prefetch_free (struct prefetch *prefetch);

/* Start to read LEN bytes at OFFSET of FD, a file of SIZE bytes, in the
 * background.  FD must stay open until prefetch_free.  This is only a hint: if
 * all pieces wait to be read or are being read, or if there is no memory, the
 * rest is not read.  Thread-safe.
 */
void prefetch_start (struct prefetch *prefetch, int fd, uint64_t size,
                     size_t len, uint64_t offset);

/* Copy LEN bytes at OFFSET of FD to BUF if they were prefetched; wait for them
 * if the read is in flight.  Returns false if they were not prefetched, could
 * not be read, or are in more than one piece of the cache; then the caller must
 * read them.  Thread-safe.
 */
bool prefetch_copy (struct prefetch *prefetch, int fd, void *buf, size_t len,
                    uint64_t offset);

#endif /* BLKSUM_PREFETCH_H */
