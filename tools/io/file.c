/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An open regular file or block device, as it was when it was found.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "io/file.h"
#include "util/error.h"

int
file_init (struct file *file, int fd, const char *path, struct error *error)
{
  off_t position, end;

  file->fd = fd;
  file->path = path;
  if (fstat (fd, &file->st) == -1)
    return error_errno (error, errno, "cannot read");
  if (S_ISREG (file->st.st_mode)) {
    file->size = file->st.st_size;
    return 0;
  }
  position = lseek (fd, 0, SEEK_CUR);
  end = lseek (fd, 0, SEEK_END);
  if (end == -1 || position == -1 || lseek (fd, position, SEEK_SET) == -1)
    return error_errno (error, errno, "cannot find the size");
  file->size = end;
  return 0;
}

void
file_close (struct file *file)
{
  if (file->path)
    close (file->fd);
}

/* What is at its path now can be another file. */
static int
reopen_by_path (const struct file *file, int flags)
{
  int fd = open (file->path, flags | O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat st;

  if (fd != -1 &&
      (fstat (fd, &st) == -1 || st.st_dev != file->st.st_dev ||
       st.st_ino != file->st.st_ino || st.st_rdev != file->st.st_rdev)) {
    close (fd);
    errno = ENOENT;
    fd = -1;
  }
  return fd;
}

int
file_reopen (const struct file *file, int flags)
{
  char path[64];
  int fd;

  snprintf (path, sizeof path, "/proc/self/fd/%d", file->fd);
  fd = open (path, flags | O_RDONLY | O_CLOEXEC);
  if (fd == -1 && errno == ENOENT && file->path)
    fd = reopen_by_path (file, flags);
  return fd;
}

bool
file_is_block_device (const struct file *file)
{
  return S_ISBLK (file->st.st_mode);
}

int
file_check_unchanged (const struct file *file, bool force_share,
                      struct error *error)
{
  struct stat now;

  if (file_is_block_device (file))
    return 0;
  if (fstat (file->fd, &now) == -1)
    return error_errno (error, errno, "cannot read");
  if (now.st_size < file->st.st_size)
    return error_set (error, "the file was truncated while it was read");
  if (force_share)
    return 0;
  if (now.st_size != file->st.st_size ||
      now.st_mtim.tv_sec != file->st.st_mtim.tv_sec ||
      now.st_mtim.tv_nsec != file->st.st_mtim.tv_nsec)
    return error_set (error, "the file changed while it was read");
  return 0;
}
