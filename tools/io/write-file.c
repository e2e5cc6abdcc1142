/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A regular file or block device in which blocks are replaced.
 *
 * It is written through the page cache, which accepts any offset and length.
 * It is read by another description, with direct I/O where that is possible,
 * and pages that are cached are dropped before: a write that storage has lost
 * or changed would not be noticed in the page cache.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <linux/fs.h>
#include <sys/ioctl.h>
#endif
#include <unistd.h>

#include "../lib/common/numbers.h"
#include "io/file.h"
#include "io/lock.h"
#include "io/read.h"
#include "io/write-file.h"
#include "util/error.h"

/* ---- Opening ---- */

static bool
is_same (const struct stat *a, const struct stat *b)
{
  if (S_ISBLK (a->st_mode))
    return S_ISBLK (b->st_mode) && a->st_rdev == b->st_rdev;
  return a->st_mode == b->st_mode && a->st_dev == b->st_dev &&
    a->st_ino == b->st_ino && a->st_size == b->st_size;
}

/* Writes to a device cannot be detected. */
static bool
is_unmodified (const struct stat *a, const struct stat *b)
{
  return S_ISBLK (a->st_mode) ||
    (a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
     a->st_mtim.tv_nsec == b->st_mtim.tv_nsec);
}

/* On a block device, O_EXCL fails if it is mounted, or in use by the kernel in
 * another way.
 */
static int
open_path (const char *path, const struct stat *st, int flags,
           struct error *error)
{
  bool is_device = S_ISBLK (st->st_mode);
  int fd = open (path, flags | O_CLOEXEC | O_NOCTTY | (is_device ? O_EXCL : 0));
  struct stat now;

  if (fd == -1 && errno == EBUSY && is_device)
    return error_set (error, "is in use: mounted, or a part of another device");
  if (fd == -1)
    return error_errno (error, errno, "cannot open for writing");
  if (fstat (fd, &now) == 0 && is_same (st, &now) && is_unmodified (st, &now))
    return fd;
  close (fd);
  return error_set (error, "changed after it was read; nothing was written");
}

static int
open_reader (struct write_file *file, const char *path, const struct stat *st,
             struct error *error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC);

  if (fd == -1)
    return error_errno (error, errno, "cannot open");
  file->reader = file_new (fd, path, false, true, false, error);
  if (!file->reader)
    return -1;
  if (is_same (st, &file->reader->st)) {
    file_avoid_cache (file->reader);
    return 0;
  }
  file_free (file->reader);
  return error_set (error, "was replaced while it was opened");
}

/* Linux opens such a device for writing all the same. */
static bool
is_read_only_device (int fd)
{
#ifdef BLKROGET
  int read_only;

  return ioctl (fd, BLKROGET, &read_only) == 0 && read_only;
#else
  (void) fd;
  return false;
#endif
}

int
write_file_check (const char *path, int fd, const struct stat *st,
                  struct error *error)
{
  int other;

  if (faccessat (AT_FDCWD, path, W_OK, AT_EACCESS) == -1)
    return error_errno (error, errno, "cannot be written");
  if (S_ISBLK (st->st_mode) && is_read_only_device (fd))
    return error_set (error, "cannot be written: the device is read-only");
  other = open_path (path, st, O_RDONLY, error);
  if (other == -1)
    return -1;
  close (other);
  return lock_image_for_writing (fd, false, error);
}

int
write_file_open (struct write_file *file, const char *path,
                 const struct stat *st, bool read_only, struct error *error)
{
  file->fd = open_path (path, st, read_only ? O_RDONLY : O_RDWR, error);
  if (file->fd == -1)
    return -1;
  if (lock_image_for_writing (file->fd, !read_only, error) == 0 &&
      open_reader (file, path, st, error) == 0)
    return 0;
  close (file->fd);
  return -1;
}

void
write_file_close (struct write_file *file)
{
  file_free (file->reader);
  close (file->fd);
}

/* ---- Reading and writing ---- */

int
write_file_read (const struct write_file *file, void *buf, size_t len,
                 uint64_t offset, struct error *error)
{
  uint64_t start = ROUND_DOWN (offset, (uint64_t) READ_ALIGN);
  size_t before = offset - start;
  size_t size = ROUND_UP (before + len, (size_t) READ_ALIGN);
  void *pages;
  int err = posix_memalign (&pages, READ_ALIGN, size), r;

  if (err)
    return error_errno (error, err, "cannot read");
  read_drop_cached (file->reader->fd, size, start);
  r = file_read (file->reader, pages, before + len, start, offset, error);
  if (r == 0)
    memcpy (buf, (char *) pages + before, len);
  free (pages);
  return r;
}

int
write_file_write (const struct write_file *file, const void *buf, size_t len,
                  uint64_t offset, struct error *error)
{
  size_t done = 0;

  while (done < len) {
    ssize_t n = pwrite (file->fd, (const char *) buf + done, len - done,
                        offset + done);

    if (n == -1 && errno == EINTR)
      continue;
    if (n <= 0)
      return error_errno (error, n == 0 ? ENOSPC : errno,
                          "cannot write at offset %llu",
                          (unsigned long long) (offset + done));
    done += n;
  }
  return 0;
}

int
write_file_sync (const struct write_file *file, struct error *error)
{
  if (fdatasync (file->fd) == -1)
    return error_errno (error, errno, "cannot write");
  return 0;
}
