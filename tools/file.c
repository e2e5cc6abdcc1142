/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An open regular file or block device, as it was when it was found.
 */

#include <config.h>

#include <errno.h>
#include <unistd.h>

#include "error.h"
#include "file.h"

int
file_init (struct file *file, int fd, struct error *error)
{
  off_t position, end;

  file->fd = fd;
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
