/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Reads that treat the page cache as the user wants.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "file-read.h"

/* Linux 6.14; glibc of the same time. */
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x80
#endif

#ifdef HAVE_PREADV2
static ssize_t
read_flags (int fd, void *buf, size_t len, uint64_t offset, int flags)
{
  struct iovec iov = { .iov_base = buf, .iov_len = len };

  return preadv2 (fd, &iov, 1, offset, flags);
}
#endif

/* What is in the cache can be had without waiting.  The rest is read and
 * dropped at once.
 */
static ssize_t
read_advise (int fd, void *buf, size_t len, uint64_t offset)
{
  ssize_t r = -1;

#if defined HAVE_PREADV2 && defined RWF_NOWAIT
  r = read_flags (fd, buf, len, offset, RWF_NOWAIT);
  if (r > 0)
    return r;
#endif
  r = pread (fd, buf, len, offset);
#ifdef HAVE_POSIX_FADVISE
  if (r > 0)
    posix_fadvise (fd, offset, r, POSIX_FADV_DONTNEED);
#endif
  return r;
}

static ssize_t
read_once (int fd, enum read_mode mode, void *buf, size_t len,
           uint64_t offset)
{
  switch (mode) {
  case READ_CACHED:
    break;
  case READ_DONTCACHE:
#ifdef HAVE_PREADV2
    return read_flags (fd, buf, len, offset, RWF_DONTCACHE);
#else
    break;
#endif
  case READ_ADVISE:
    return read_advise (fd, buf, len, offset);
  }
  return pread (fd, buf, len, offset);
}

int
file_read (int fd, enum read_mode mode, void *buf, size_t len,
           uint64_t offset)
{
  char *p = buf;

  while (len > 0) {
    ssize_t r = read_once (fd, mode, p, len, offset);

    if (r == -1 && errno == EINTR)
      continue;
    if (r == -1)
      return errno;
    if (r == 0)
      return -1;
    p += r;
    offset += r;
    len -= r;
  }
  return 0;
}

/* A read of nothing tells whether the kernel and the file system know the
 * flag.
 */
enum read_mode
file_read_mode (int fd)
{
#ifdef HAVE_PREADV2
  char byte;

  if (read_flags (fd, &byte, 0, 0, RWF_DONTCACHE) == 0)
    return READ_DONTCACHE;
#else
  (void) fd;
#endif
  return READ_ADVISE;
}
