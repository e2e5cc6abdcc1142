/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A model of the page cache, to be preloaded.
 *
 * The kernel evicts pages depending on the load of the machine.  The model
 * keeps all pages of one file that were read, and those of readahead, until
 * they are dropped by request: so the pages that are left are those that the
 * program did not drop.  The reads themselves are real.
 *
 * $CACHED_FILE is the file, $CACHED_PAGES a file with a byte for each of its
 * pages, 1 if it is cached; both must exist.  With $NO_DONTCACHE the flag
 * RWF_DONTCACHE is refused, as by Linux before 6.14 and by tmpfs, except for a
 * read of 0 bytes; that file counts the refused calls.  With $NO_NOWAIT the flag
 * RWF_NOWAIT is refused, too, as on FUSE and NFS; then mincore shows the cache,
 * or, if $NO_NOWAIT is "denied", only the owner of the file would see it: all
 * pages seem to be cached, and O_NOATIME is refused.  Without $CACHED_PAGES
 * there is no model, and the kernel decides.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
#define AHEAD 32                /* pages */
#define NOWAIT 8
#define DONTCACHE 0x80

typedef ssize_t pread_function (int, void *, size_t, off_t);
typedef ssize_t preadv2_function (int, const struct iovec *, int, off_t, int);
typedef int fadvise_function (int, off_t, off_t, int);
typedef void *mmap_function (void *, size_t, int, int, int, off_t);
typedef int fcntl_function (int, int, ...);

static struct stat file;
static volatile unsigned char *pages;
static off_t count;             /* of pages */
static volatile bool is_random; /* no readahead */
static __thread off_t mapped = -1; /* first page of the last mapping of the file
                                    * by this thread */

static void __attribute__ ((constructor))
load (void)
{
  const char *name = getenv ("CACHED_PAGES");
  struct stat st;
  int fd;

  if (!name)
    return;
  fd = open (name, O_RDWR | O_CLOEXEC);
  if (fd == -1 || fstat (fd, &st) == -1 ||
      stat (getenv ("CACHED_FILE"), &file) == -1) {
    perror (name);
    _exit (1);
  }
  count = st.st_size;
  pages = mmap (NULL, count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (pages == MAP_FAILED)
    _exit (1);
  close (fd);
}

static bool
is_ours (int fd)
{
  struct stat st;

  return pages && fstat (fd, &st) == 0 && st.st_dev == file.st_dev &&
    st.st_ino == file.st_ino && !(fcntl (fd, F_GETFL) & O_DIRECT);
}

static ssize_t
real_pread (int fd, void *buf, size_t len, off_t offset)
{
  pread_function *real = (pread_function *) dlsym (RTLD_NEXT, "pread64");

  return real (fd, buf, len, offset);
}

static void
set (off_t first, off_t end, bool cached)
{
  for (off_t i = first; i < end && i < count; i++)
    pages[i] = cached;
}

static ssize_t
cached_pread (int fd, void *buf, size_t len, off_t offset)
{
  ssize_t r = real_pread (fd, buf, len, offset);

  if (r > 0 && is_ours (fd))
    set (offset / PAGE,
         (offset + r + PAGE - 1) / PAGE + (is_random ? 0 : AHEAD), true);
  return r;
}

/* The cached pages, up to the first one that is not cached. */
static ssize_t
nowait_pread (int fd, void *buf, size_t len, off_t offset)
{
  off_t page = offset / PAGE;

  while (page < count && pages[page] && page * PAGE < offset + (off_t) len)
    page++;
  if (page * PAGE <= offset && page < count) {
    errno = EAGAIN;
    return -1;
  }
  if (page < count && page * PAGE < offset + (off_t) len)
    len = page * PAGE - offset;
  return real_pread (fd, buf, len, offset);
}

static void
refuse (const char *counter)
{
  int fd = open (counter, O_WRONLY | O_APPEND | O_CLOEXEC);

  if (fd == -1 || write (fd, "x", 1) != 1)
    abort ();
  close (fd);
}

/* blksum uses one buffer. */
ssize_t
preadv64v2 (int fd, const struct iovec *iov, int n, off64_t offset, int flags)
{
  const char *counter = getenv ("NO_DONTCACHE");

  if (n != 1 || (flags & ~(NOWAIT | DONTCACHE)))
    abort ();
  if ((flags & DONTCACHE) && counter && iov->iov_len > 0) {
    refuse (counter);
    errno = EOPNOTSUPP;
    return -1;
  }
  if (!pages) {
    preadv2_function *real = (preadv2_function *) dlsym (RTLD_NEXT,
                                                         "preadv64v2");
    return real (fd, iov, n, offset, flags);
  }
  if ((flags & NOWAIT) && is_ours (fd) && getenv ("NO_NOWAIT")) {
    errno = EOPNOTSUPP;
    return -1;
  }
  if ((flags & NOWAIT) && is_ours (fd))
    return nowait_pread (fd, iov->iov_base, iov->iov_len, offset);
  if (flags & DONTCACHE)
    return real_pread (fd, iov->iov_base, iov->iov_len, offset);
  return cached_pread (fd, iov->iov_base, iov->iov_len, offset);
}

ssize_t
preadv2 (int fd, const struct iovec *iov, int n, off_t offset, int flags)
{
  return preadv64v2 (fd, iov, n, offset, flags);
}

ssize_t
pread (int fd, void *buf, size_t len, off_t offset)
{
  return cached_pread (fd, buf, len, offset);
}

ssize_t
pread64 (int fd, void *buf, size_t len, off64_t offset)
{
  return cached_pread (fd, buf, len, offset);
}

ssize_t __pread64_chk (int fd, void *buf, size_t len, off64_t offset,
                       size_t size);

ssize_t
__pread64_chk (int fd, void *buf, size_t len, off64_t offset, size_t size)
{
  (void) size;
  return cached_pread (fd, buf, len, offset);
}

/* A page is dropped if the range contains all of it, up to the end of file. */
int
posix_fadvise64 (int fd, off64_t offset, off64_t len, int advice)
{
  fadvise_function *real =
    (fadvise_function *) dlsym (RTLD_NEXT, "posix_fadvise64");
  off_t end = offset + len;

  if (is_ours (fd)) {
    if (advice == POSIX_FADV_RANDOM)
      is_random = true;
    if (advice == POSIX_FADV_NORMAL)
      is_random = false;
    if (advice == POSIX_FADV_DONTNEED)
      set ((offset + PAGE - 1) / PAGE,
           len == 0 || end >= file.st_size ? count : end / PAGE, false);
  }
  return real (fd, offset, len, advice);
}

int
posix_fadvise (int fd, off_t offset, off_t len, int advice)
{
  return posix_fadvise64 (fd, offset, len, advice);
}

/* ---- Which pages are cached? ---- */

static bool
is_denied (void)
{
  const char *value = getenv ("NO_NOWAIT");

  return value && strcmp (value, "denied") == 0;
}

void *
mmap64 (void *addr, size_t len, int protection, int flags, int fd,
        off64_t offset)
{
  mmap_function *real = (mmap_function *) dlsym (RTLD_NEXT, "mmap64");

  mapped = fd != -1 && is_ours (fd) ? offset / PAGE : -1;
  return real (addr, len, protection, flags, fd, offset);
}

void *
mmap (void *addr, size_t len, int protection, int flags, int fd, off_t offset)
{
  return mmap64 (addr, len, protection, flags, fd, offset);
}

/* blksum calls this only for its last mapping. */
int
mincore (void *addr, size_t len, unsigned char *vec)
{
  (void) addr;
  if (mapped == -1)
    abort ();
  for (size_t i = 0; i * PAGE < len; i++)
    vec[i] = is_denied () ||
      (mapped + (off_t) i < count && pages[mapped + i]);
  return 0;
}

/* All commands of blksum have an integer or a pointer as argument, or none. */
int
fcntl64 (int fd, int command, ...)
{
  fcntl_function *real = (fcntl_function *) dlsym (RTLD_NEXT, "fcntl64");
  va_list args;
  void *argument;

  va_start (args, command);
  argument = va_arg (args, void *);
  va_end (args);
  if (command == F_SETFL && is_denied () &&
      ((long) argument & O_NOATIME) != 0) {
    errno = EPERM;
    return -1;
  }
  return real (fd, command, argument);
}

int
fcntl (int fd, int command, ...)
{
  va_list args;
  void *argument;

  va_start (args, command);
  argument = va_arg (args, void *);
  va_end (args);
  return fcntl64 (fd, command, argument);
}
