/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The functions of the C library that can fail: see call-faults.c.
 *
 * Functions that allocate with malloc, such as strdup and asprintf, fail when it
 * does.  What is written to standard error never fails, because then nothing is
 * left that the program can do.
 */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call-faults.h"

/* ---- Memory: the functions behind these are needed before dlsym works. ---- */

void *__libc_malloc (size_t size);
void *__libc_calloc (size_t count, size_t size);
void *__libc_realloc (void *p, size_t size);
void *__libc_memalign (size_t alignment, size_t size);
void __libc_free (void *p);

/* Returns P, which the caller of the caller has allocated. */
#define ALLOCATED(p) \
  (module_allocated (p, __builtin_return_address (0)), p)

void *
malloc (size_t size)
{
  void *p = MEMORY_FAILS (malloc) ? NULL : __libc_malloc (size);

  return ALLOCATED (p);
}

void *
calloc (size_t count, size_t size)
{
  void *p = MEMORY_FAILS (calloc) ? NULL : __libc_calloc (count, size);

  return ALLOCATED (p);
}

void *
realloc (void *old, size_t size)
{
  void *p;

  if (MEMORY_FAILS (realloc))
    return NULL;
  module_freed (old);
  p = __libc_realloc (old, size);
  return ALLOCATED (p);
}

void
free (void *p)
{
  module_freed (p);
  __libc_free (p);
}

int
posix_memalign (void **p, size_t alignment, size_t size)
{
  void *memory;

  if (MEMORY_FAILS (posix_memalign))
    return errno;
  memory = __libc_memalign (alignment, size);
  if (!memory)
    return ENOMEM;
  *p = ALLOCATED (memory);
  return 0;
}

COUNTED (void *, mmap, (void *addr, size_t len, int protection, int flags,
                        int fd, off_t offset),
         (addr, len, protection, flags, fd, offset), MAP_FAILED)
COUNTED (int, mincore, (void *addr, size_t len, unsigned char *pages),
         (addr, len, pages), -1)
COUNTED (int, madvise, (void *addr, size_t len, int advice),
         (addr, len, advice), -1)

/* ---- Threads and processes ---- */

COUNTED (int, pthread_create,
         (pthread_t *id, const pthread_attr_t *attributes,
          void *(*function) (void *), void *argument),
         (id, attributes, function, argument), errno)
COUNTED (pid_t, fork, (void), (), -1)
COUNTED (int, execve, (const char *path, char *const argv[], char *const env[]),
         (path, argv, env), -1)
COUNTED (pid_t, waitpid, (pid_t pid, int *status, int options),
         (pid, status, options), -1)
COUNTED (int, waitid, (idtype_t type, id_t id, siginfo_t *info, int options),
         (type, id, info, options), -1)
COUNTED (int, setrlimit,
         (__rlimit_resource_t resource, const struct rlimit *limit),
         (resource, limit), -1)
COUNTED (int, getentropy, (void *buf, size_t len), (buf, len), -1)

/* ---- Descriptors ---- */

int
open (const char *path, int flags, ...)
{
  va_list args;
  mode_t mode = 0;

  DECLARE_REAL (open);
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_start (args, flags);
    mode = va_arg (args, mode_t);
    va_end (args);
  }
  return FAILS (open) ? -1 : REAL (open) (path, flags, mode);
}

int
openat (int dir, const char *path, int flags, ...)
{
  va_list args;
  mode_t mode = 0;

  DECLARE_REAL (openat);
  if (flags & (O_CREAT | O_TMPFILE)) {
    va_start (args, flags);
    mode = va_arg (args, mode_t);
    va_end (args);
  }
  return FAILS (openat) ? -1 : REAL (openat) (dir, path, flags, mode);
}

/* Other commands fail only if the descriptor is not open. */
static bool
can_fail (int command)
{
  return command != F_GETFD && command != F_SETFD && command != F_GETFL &&
    command != F_SETFL;
}

int
fcntl (int fd, int command, ...)
{
  va_list args;
  void *argument;

  DECLARE_REAL (fcntl);
  va_start (args, command);
  argument = va_arg (args, void *);
  va_end (args);
  return can_fail (command) && FAILS (fcntl) ? -1 : REAL (fcntl) (fd, command, argument);
}

int
ioctl (int fd, unsigned long request, ...)
{
  va_list args;
  void *argument;

  DECLARE_REAL (ioctl);
  va_start (args, request);
  argument = va_arg (args, void *);
  va_end (args);
  return FAILS (ioctl) ? -1 : REAL (ioctl) (fd, request, argument);
}

/* Reads and writes of an eventfd fail only with EINTR, and EAGAIN. */
static bool is_eventfd[1024];

static bool
fits_eventfd (int fd)
{
  return fd >= 0 && fd < (int) (sizeof is_eventfd / sizeof is_eventfd[0]);
}

int
eventfd (unsigned count, int flags)
{
  int fd;

  DECLARE_REAL (eventfd);
  if (FAILS (eventfd))
    return -1;
  fd = REAL (eventfd) (count, flags);
  if (fits_eventfd (fd))
    is_eventfd[fd] = true;
  return fd;
}

/* The descriptor is closed in any case, as by Linux. */
int
close (int fd)
{
  int r, errnum;

  DECLARE_REAL (close);
  if (fits_eventfd (fd))
    is_eventfd[fd] = false;
  if (!FAILS (close))
    return REAL (close) (fd);
  errnum = errno;
  r = REAL (close) (fd);
  errno = r == 0 ? errnum : errno;
  return -1;
}

COUNTED (FILE *, fopen, (const char *path, const char *mode), (path, mode),
         NULL)
COUNTED (DIR *, opendir, (const char *path), (path), NULL)
COUNTED (struct dirent *, readdir, (DIR *dir), (dir), NULL)
COUNTED (int, mkostemp, (char *template, int flags), (template, flags), -1)
COUNTED (int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
COUNTED (int, pipe2, (int fds[2], int flags), (fds, flags), -1)
COUNTED (int, dup, (int fd), (fd), -1)
COUNTED (int, dup2, (int old, int new), (old, new), -1)
COUNTED (int, flock, (int fd, int operation), (fd, operation), -1)
COUNTED (int, poll, (struct pollfd *fds, nfds_t n, int timeout),
         (fds, n, timeout), -1)

/* ---- Reads and writes, which can be short ---- */

#define SHORTENED(type, name, parameters, arguments, len, eventfd_call) \
  type \
  name parameters \
  { \
    DECLARE_REAL (name); \
    if (eventfd_call != -1 && fits_eventfd (fd) && is_eventfd[fd]) { \
      if (call_fails (eventfd_call, __builtin_return_address (0))) \
        return -1; \
    } \
    else if (FAILS (name)) { \
      if (errno != SHORT_COUNT) \
        return -1; \
      len -= len / 2; \
    } \
    return REAL (name) arguments; \
  }

SHORTENED (ssize_t, read, (int fd, void *buf, size_t len), (fd, buf, len), len,
           CALL_eventfd_read)
SHORTENED (ssize_t, pread, (int fd, void *buf, size_t len, off_t offset),
           (fd, buf, len, offset), len, -1)
SHORTENED (ssize_t, write, (int fd, const void *buf, size_t len),
           (fd, buf, len), len, CALL_eventfd_write)
SHORTENED (ssize_t, pwrite,
           (int fd, const void *buf, size_t len, off_t offset),
           (fd, buf, len, offset), len, -1)
SHORTENED (ssize_t, recv, (int fd, void *buf, size_t len, int flags),
           (fd, buf, len, flags), len, -1)
SHORTENED (ssize_t, send, (int fd, const void *buf, size_t len, int flags),
           (fd, buf, len, flags), len, -1)

ssize_t
preadv2 (int fd, const struct iovec *iov, int n, off_t offset, int flags)
{
  struct iovec first;

  DECLARE_REAL (preadv2);
  if (!FAILS (preadv2))
    return REAL (preadv2) (fd, iov, n, offset, flags);
  if (errno != SHORT_COUNT)
    return -1;
  first = (struct iovec) { iov->iov_base, iov->iov_len - iov->iov_len / 2 };
  return REAL (preadv2) (fd, &first, 1, offset, flags);
}

/* ---- Streams ---- */

/* What was written but not flushed is lost, too. */
static int
end_of_file (FILE *f)
{
  __fpurge (f);
  f->_flags |= _IO_ERR_SEEN;
  return EOF;
}

#define STREAM(type, name, parameters, arguments, f, failure) \
  type \
  name parameters \
  { \
    DECLARE_REAL (name); \
    if (f != stderr && FAILS (name)) { \
      end_of_file (f); \
      return failure; \
    } \
    return REAL (name) arguments; \
  }

#undef putc
STREAM (int, __uflow, (FILE *f), (f), f, EOF)
STREAM (int, fputs, (const char *text, FILE *f), (text, f), f, EOF)
STREAM (int, putc, (int c, FILE *f), (c, f), f, EOF)
STREAM (int, puts, (const char *text), (text), stdout, EOF)
STREAM (size_t, fwrite, (const void *p, size_t size, size_t n, FILE *f),
        (p, size, n, f), f, 0)
STREAM (int, fflush, (FILE *f), (f), f, EOF)

/* The stream is closed in any case. */
int
fclose (FILE *f)
{
  int errnum;

  DECLARE_REAL (fclose);
  if (!FAILS (fclose))
    return REAL (fclose) (f);
  errnum = errno;
  __fpurge (f);
  REAL (fclose) (f);
  errno = errnum;
  return EOF;
}

int
printf (const char *format, ...)
{
  va_list args;
  int n;

  if (FAILS (printf))
    return end_of_file (stdout);
  va_start (args, format);
  n = vprintf (format, args);
  va_end (args);
  return n;
}

int
fprintf (FILE *f, const char *format, ...)
{
  va_list args;
  int n;

  if (f != stderr && FAILS (fprintf))
    return end_of_file (f);
  va_start (args, format);
  n = vfprintf (f, format, args);
  va_end (args);
  return n;
}

/* ---- Files ---- */

COUNTED (int, fsync, (int fd), (fd), -1)
COUNTED (int, fdatasync, (int fd), (fd), -1)
COUNTED (int, rename, (const char *old, const char *new), (old, new), -1)
COUNTED (int, renameat2, (int old_fd, const char *old, int new_fd,
                          const char *new, unsigned flags),
         (old_fd, old, new_fd, new, flags), -1)
COUNTED (int, linkat, (int old_fd, const char *old, int new_fd,
                       const char *new, int flags),
         (old_fd, old, new_fd, new, flags), -1)
COUNTED (int, unlink, (const char *path), (path), -1)
COUNTED (int, access, (const char *path, int mode), (path, mode), -1)
COUNTED (ssize_t, readlink, (const char *path, char *buf, size_t len),
         (path, buf, len), -1)
COUNTED (int, stat, (const char *path, struct stat *st), (path, st), -1)
COUNTED (int, lstat, (const char *path, struct stat *st), (path, st), -1)
COUNTED (int, fstat, (int fd, struct stat *st), (fd, st), -1)
COUNTED (int, fstatfs, (int fd, struct statfs *st), (fd, st), -1)
COUNTED (off_t, lseek, (int fd, off_t offset, int whence),
         (fd, offset, whence), -1)
COUNTED (int, ftruncate, (int fd, off_t size), (fd, size), -1)
COUNTED (int, posix_fadvise, (int fd, off_t offset, off_t len, int advice),
         (fd, offset, len, advice), errno)

/* ---- Sockets ---- */

COUNTED (int, socket, (int domain, int type, int protocol),
         (domain, type, protocol), -1)
COUNTED (int, socketpair, (int domain, int type, int protocol, int fds[2]),
         (domain, type, protocol, fds), -1)
COUNTED (int, bind, (int fd, const struct sockaddr *address, socklen_t len),
         (fd, address, len), -1)
COUNTED (int, listen, (int fd, int backlog), (fd, backlog), -1)
COUNTED (int, connect, (int fd, const struct sockaddr *address, socklen_t len),
         (fd, address, len), -1)

/* ---- The same functions by the names of 64-bit offsets ---- */

#define ALIAS(type, name, target, parameters) \
  type name parameters __attribute__ ((alias (#target)))

#undef open64
#undef openat64
ALIAS (int, open64, open, (const char *path, int flags, ...));
ALIAS (int, openat64, openat, (int dir, const char *path, int flags, ...));
ALIAS (int, fcntl64, fcntl, (int fd, int command, ...));
ALIAS (FILE *, fopen64, fopen, (const char *path, const char *mode));
ALIAS (int, mkostemp64, mkostemp, (char *template, int flags));
ALIAS (ssize_t, pread64, pread, (int fd, void *buf, size_t len, off64_t offset));
ALIAS (ssize_t, pwrite64, pwrite,
       (int fd, const void *buf, size_t len, off64_t offset));
ALIAS (ssize_t, preadv64v2, preadv2,
       (int fd, const struct iovec *iov, int n, off64_t offset, int flags));
ALIAS (off64_t, lseek64, lseek, (int fd, off64_t offset, int whence));
ALIAS (int, ftruncate64, ftruncate, (int fd, off64_t size));
ALIAS (int, posix_fadvise64, posix_fadvise,
       (int fd, off64_t offset, off64_t len, int advice));
