/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A regular file or block device in which blocks are replaced.
 *
 * One description is open from the checks to the end: it has the locks, and
 * while it is open, the number of a device cannot be that of another one.  It
 * writes through the page cache, which accepts any offset and length.
 *
 * What was written is not read from the page cache, because that has it even if
 * the storage has not: a write can be lost, and after a sync that failed Linux
 * keeps the pages as if they were written.  So the reader has a description for
 * direct I/O, of the same file.  If the file system has no direct I/O, all pages
 * of the file are dropped after each sync.  Dropping only a range would keep a
 * large folio that extends beyond it.
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
#include "util/medium-error.h"

/* ---- Opening ---- */

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

/* Returns the type of the file at PATH, or -1 with the reason. */
static int
find_type (const char *path, struct error *error)
{
  struct stat st;

  if (stat (path, &st) == -1)
    return error_errno (error, errno, "cannot open");
  if (S_ISREG (st.st_mode) || S_ISBLK (st.st_mode))
    return st.st_mode & S_IFMT;
  return error_set (error, "cannot be repaired: it is not a regular file or "
                    "block device");
}

/* On a block device, O_EXCL fails if it is mounted, or in use by the kernel in
 * another way.  On another file its effect is not specified.  O_NONBLOCK is for
 * a FIFO that has replaced the file.
 */
static int
open_path (const char *path, int type, bool read_only, struct error *error)
{
  int flags = O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  int fd = open (path, flags | (read_only ? O_RDONLY : O_RDWR) |
                 (type == S_IFBLK ? O_EXCL : 0));

  if (fd == -1 && errno == EBUSY && type == S_IFBLK)
    return error_set (error, "is in use: mounted, a part of another device, or "
                      "opened exclusively by another program");
  if (fd == -1)
    return error_errno (error, errno, read_only ? "cannot open"
                                                : "cannot open for writing");
  return fd;
}

static int
check (struct write_file *file, int type, bool read_only, struct error *error)
{
  if (fstat (file->fd, &file->st) == -1)
    return error_errno (error, errno, "cannot open");
  if ((file->st.st_mode & S_IFMT) != type)
    return error_set (error, "was replaced while it was opened");
  if (!read_only && type == S_IFBLK && is_read_only_device (file->fd))
    return error_set (error, "cannot be written: the device is read-only");
  if (lock_image_for_writing (file->fd, error) == -1 ||
      (!read_only && write_file_sync (file, error) == -1))
    return -1;
  /* NFS can change the time of the last write when it writes to the storage. */
  if (fstat (file->fd, &file->st) == -1)
    return error_errno (error, errno, "cannot open");
  return 0;
}

int
write_file_open (struct write_file *file, const char *path, bool read_only,
                 struct error *error)
{
  int type = find_type (path, error);

  if (type == -1)
    return -1;
  *file = (struct write_file) {
    .fd = open_path (path, type, read_only, error), .path = path
  };
  if (file->fd == -1)
    return -1;
  if (check (file, type, read_only, error) == 0)
    return 0;
  close (file->fd);
  return -1;
}

void
write_file_close (struct write_file *file)
{
  close (file->fd);
}

/* Without direct I/O the storage is only read if nothing is cached.  What is
 * cached of a device can be older than what another host has written, and a
 * write of a part of a page would write all of it.
 */
static void
drop_cached (const struct write_file *file)
{
  if (file->reader &&
      (!file->reader->direct || file_is_block_device (file->reader)))
    read_drop_cached (file->fd);
}

void
write_file_set_reader (struct write_file *file, struct file *reader)
{
  file->reader = reader;
  drop_cached (file);
}

/* ---- Changes by others ---- */

int
write_file_check_unmodified (const struct write_file *file,
                             struct error *error)
{
  struct stat now;

  if (fstat (file->fd, &now) == -1)
    return error_errno (error, errno, "cannot read");
  if (S_ISBLK (now.st_mode) ||
      (now.st_size == file->st.st_size &&
       now.st_mtim.tv_sec == file->st.st_mtim.tv_sec &&
       now.st_mtim.tv_nsec == file->st.st_mtim.tv_nsec))
    return 0;
  return error_set (error, "the file changed while it was read; "
                    "nothing was written");
}

int
write_file_check_path (const struct write_file *file, struct error *error)
{
  struct stat now;
  bool same = stat (file->path, &now) == 0;

  if (same && S_ISBLK (file->st.st_mode))
    same = S_ISBLK (now.st_mode) && now.st_rdev == file->st.st_rdev;
  else if (same)
    same = now.st_dev == file->st.st_dev && now.st_ino == file->st.st_ino;
  return same ? 0 : error_set (error, "was replaced by another file");
}

/* Writing beyond the end would make a file that was truncated longer. */
static int
check_end (const struct write_file *file, uint64_t end, struct error *error)
{
  struct stat now;

  if (S_ISBLK (file->st.st_mode))
    return 0;
  if (fstat (file->fd, &now) == -1)
    return error_errno (error, errno, "cannot write");
  if ((uint64_t) now.st_size >= end)
    return 0;
  return error_set (error, "was truncated while it was repaired");
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
  int err = posix_memalign (&pages, READ_ALIGN, size);

  if (err)
    return error_errno (error, err, "cannot read");
  err = file_read_pages (file->reader, pages, before + len, start);
  if (err == 0)
    memcpy (buf, (char *) pages + before, len);
  free (pages);
  if (err == 0 || is_medium_error (err))
    return err != 0;
  if (err == -1)
    return error_set (error, "was truncated while it was repaired");
  return error_errno (error, err, "cannot read at offset %llu",
                      (unsigned long long) offset);
}

int
write_file_write (const struct write_file *file, const void *buf, size_t len,
                  uint64_t offset, struct error *error)
{
  size_t done = 0;

  if (check_end (file, offset + len, error) == -1)
    return -1;
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
    return error_errno (error, errno, "cannot write what is cached to the "
                        "storage");
  drop_cached (file);
  return 0;
}
