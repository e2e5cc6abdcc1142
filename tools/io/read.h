/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reads that treat the page cache as the user wants.
 *
 * By default a sum leaves no trace in the page cache: of a regular file the
 * pages that are there are used, and those that are not are read around it;
 * a block device, which other hosts may write too, is read by direct I/O.
 */

#ifndef BLKSUM_READ_H
#define BLKSUM_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum read_mode {
  READ_CACHED,                  /* through the page cache, the usual way */
  READ_DONTCACHE,               /* drop what was not there: RWF_DONTCACHE */
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

/* A buffer to read into, for free; NULL with errno set.  It lies in huge pages
 * where it can: a disk then takes one large read instead of several, as a
 * request has room for only so many pages, and there are fewer faults.
 */
void *read_alloc (size_t size);

/* Read LEN bytes at OFFSET of FILE, or at least MIN, in any number of system
 * calls.  Returns 0; an errno value; or -1 if the file ends before.
 */
int read_range (const struct read_file *file, void *buf, size_t len,
                size_t min, uint64_t offset);

/* Start to read LEN bytes at OFFSET of FD into the page cache. */
void read_ahead (int fd, size_t len, uint64_t offset);

/* To be called before anything is read from a file that is not to be left in
 * the cache; then the best way to read it.
 */
void read_disable_readahead (int fd);
enum read_mode read_detect_mode (int fd);

#endif /* BLKSUM_READ_H */
