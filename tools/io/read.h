/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reads, through the page cache or past it.
 *
 * By default reading an image leaves the page cache unchanged: cached pages of
 * a regular file are read from the cache, and other pages past it.  A block
 * device is read with direct I/O, because other hosts can write it, so that
 * cached pages may be stale.
 */

#ifndef BLKSUM_READ_H
#define BLKSUM_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum read_mode {
  READ_CACHED,                  /* through the page cache */
  READ_DONTCACHE,               /* drop pages that were not cached, with
                                 * RWF_DONTCACHE */
  READ_ADVISE,                  /* the same, with RWF_NOWAIT, direct I/O and
                                 * fadvise */
};

/* An open file, with a second descriptor for direct I/O if that is used. */
struct read_file {
  int fd;
  int direct_fd;                /* for READ_ADVISE; or -1 */
  enum read_mode mode;
};

/* Offsets, lengths and buffers of direct I/O are multiples of this. */
#define READ_ALIGN 4096

/* Allocate a buffer for reads, which the caller frees.  It has huge pages if
 * possible: a request to a disk has a limited number of pages, so huge pages
 * allow larger requests, and cause fewer page faults.  Returns NULL with errno
 * set on failure.
 */
void *read_alloc (size_t size);

/* Read LEN bytes at OFFSET of FILE, or fewer if the file ends before, but at
 * least MIN.  Returns 0; an errno value; or -1 if the file is too short.
 */
int read_range (const struct read_file *file, void *buf, size_t len,
                size_t min, uint64_t offset);

/* Start to read LEN bytes at OFFSET of FD into the page cache. */
void read_ahead (int fd, size_t len, uint64_t offset);

/* For a file that is read through the page cache: larger requests, if the file
 * is on FUSE or NFS.
 */
void read_extend_readahead (int fd);

/* For a file that is read past the page cache: first disable the readahead of
 * the kernel, then detect the best mode.
 */
void read_disable_readahead (int fd);
enum read_mode read_detect_mode (int fd);

#endif /* BLKSUM_READ_H */
