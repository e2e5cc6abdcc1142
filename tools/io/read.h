/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reads that use the page cache as the user wants.
 *
 * By default reading an image leaves the page cache unchanged.  Of a regular
 * file, cached pages are used, and the others are read past the cache.  A block
 * device, which other hosts can write, is read by direct I/O.
 */

#ifndef BLKSUM_READ_H
#define BLKSUM_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum read_mode {
  READ_CACHED,                  /* through the page cache */
  READ_DONTCACHE,               /* drop pages that were not cached:
                                 * RWF_DONTCACHE */
  READ_ADVISE,                  /* the same by RWF_NOWAIT, direct I/O and
                                 * fadvise */
};

/* A file, open once or twice. */
struct read_file {
  int fd;
  int direct_fd;                /* for direct I/O by READ_ADVISE; -1: none */
  enum read_mode mode;
};

/* Offsets, lengths and buffers of direct I/O are multiples of this. */
#define READ_ALIGN 4096

/* Allocate a buffer for reads, to be freed by free; NULL with errno set.  It
 * uses huge pages if possible: a request to a disk has a limited number of
 * pages, so large pages make larger reads, and there are fewer page faults.
 */
void *read_alloc (size_t size);

/* Read LEN bytes at OFFSET of FILE, at least MIN of them, in any number of
 * system calls.  0; an errno value; or -1 if the file ends before.
 */
int read_range (const struct read_file *file, void *buf, size_t len,
                size_t min, uint64_t offset);

/* Start to read LEN bytes at OFFSET of FD into the page cache. */
void read_ahead (int fd, size_t len, uint64_t offset);

/* For a file that is read through the page cache: larger requests, if the file
 * is on FUSE or NFS.
 */
void read_extend_readahead (int fd);

/* For a file that is read past the page cache: disable readahead before the
 * first read.  Then detect the best mode.
 */
void read_disable_readahead (int fd);
enum read_mode read_detect_mode (int fd);

#endif /* BLKSUM_READ_H */
