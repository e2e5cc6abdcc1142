/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reads, through the page cache or past it.
 *
 * By default reading an image leaves the page cache unchanged: cached pages of
 * a regular file are read from the cache, and other pages past it.  Without
 * RWF_DONTCACHE, some cached pages are dropped, too: those behind a page that
 * is not cached, in the same read; or, on FUSE and NFS, which do not have
 * RWF_NOWAIT either, all, but only if the system does not show this process
 * which pages are cached.  A block device is read with direct I/O: other hosts
 * can write it, and then cached pages are stale.
 */

#ifndef BLKSUM_FILE_READ_H
#define BLKSUM_FILE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum read_mode {
  READ_CACHED,                  /* plain reads of FD: through the page cache,
                                 * unless FD was opened for direct I/O */
  READ_DONTCACHE,               /* leave the page cache unchanged, with
                                 * RWF_DONTCACHE */
  READ_ADVISE,                  /* the same, with RWF_NOWAIT, direct I/O and
                                 * fadvise */
};

/* An open file, with a second descriptor for direct I/O if that is used. */
struct read_file {
  int fd;
  int direct_fd;                /* for READ_ADVISE; or -1 */
  bool shows_cached;            /* the system shows this process which pages of
                                 * the file are cached; for READ_ADVISE */
  enum read_mode mode;
};

/* Offsets, lengths and buffers of direct I/O are multiples of this.  In a
 * repair, only the buffers are (see target.h).
 */
#define READ_ALIGN 4096

/* Allocate a buffer that is aligned for direct I/O, which the caller frees.  It
 * has huge pages if possible.  These allow larger requests to a disk, because
 * the number of pages of a request is limited, and cause fewer page faults.
 * Returns NULL with errno set on failure.
 */
void *read_alloc (size_t size);

/* Read at least MIN and at most LEN bytes at OFFSET of FILE.  LEN can be
 * rounded up for direct I/O, and may pass the end of the file.  Returns 0; an
 * errno value; or -1 if the file ends before MIN bytes.
 */
int read_range (const struct read_file *file, void *buf, size_t len,
                size_t min, uint64_t offset);

/* Start to read LEN bytes at OFFSET of FD into the page cache. */
void read_ahead (int fd, size_t len, uint64_t offset);

/* For a file that is read through the page cache: if the file is on FUSE or
 * NFS, enlarge the readahead of the kernel, and so its requests to the server.
 */
void read_extend_readahead (int fd);

/* For a file that is read past the page cache.  The first function disables the
 * readahead of the kernel, and is called before the first read.  The second one
 * finds the best mode to read data, and is called before data is read.
 */
void read_disable_readahead (int fd);
enum read_mode read_detect_mode (int fd);

/* Returns true if the system shows this process which pages of the file are
 * cached.  May return false for a process that can see them.
 */
bool read_shows_cached (int fd);

/* ---- Prefetching tables ---- */

/* The tables (the metadata) of an image are prefetched if its files are read
 * with direct I/O, without the readahead of the kernel.  The cache has
 * PREFETCH_COUNT pieces, 4 MiB in total.  Only whole pieces are read, because
 * direct I/O must be aligned; the last piece of a file can be shorter.
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

#endif /* BLKSUM_FILE_READ_H */
