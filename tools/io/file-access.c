/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the bytes of a regular file or block device are read, and where it has
 * holes.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/file.h"
#include "io/file-access.h"
#include "util/error.h"

/* A second description of the device, for direct I/O.  -1 if there can be
 * none; then it is read through the cache.
 */
static int
open_direct (const struct file *file)
{
#if defined O_DIRECT && defined __linux__
  return file_reopen (file, O_DIRECT);
#else
  (void) file;
  return -1;
#endif
}

void
file_access_open (struct file_access *access, const struct file *file,
                  uint64_t start, bool cache)
{
  bool block = file_is_block_device (file);
  int direct = -1;

  *access = (struct file_access) { .fd = file->fd, .mode = READ_CACHED };
  if (!cache && !block)
    access->mode = file_read_mode (file->fd);
  if (!cache && block && start % READ_ALIGN == 0)
    direct = open_direct (file);
  if (direct != -1) {
    access->fd = direct;
    access->direct = true;
  }
}

void
file_access_close (struct file_access *access)
{
  if (access->direct)
    close (access->fd);
}

bool
file_access_can_direct (const struct file_access *access,
                        const struct file *file)
{
  int fd;

  if (access->direct)
    return true;
  fd = open_direct (file);
  if (fd != -1)
    close (fd);
  return fd != -1;
}

int
file_access_read (const struct file_access *access, void *buf, size_t len,
                  uint64_t at, uint64_t offset, struct error *error)
{
  int err = file_read (access->fd, access->mode, buf, len, at);

  if (err == 0)
    return 0;
  if (err == -1)
    return error_set (error, "cannot read at offset %llu: the file was "
                      "truncated while it was read",
                      (unsigned long long) offset);
  return error_errno (error, err, "cannot read at offset %llu",
                      (unsigned long long) offset);
}

/* Where the file system cannot tell, everything is data. */
int
file_access_extent (const struct file_access *access, uint64_t at,
                    uint64_t size, struct extent *extent, struct error *error)
{
#ifdef SEEK_HOLE
  off_t data = lseek (access->fd, at, SEEK_DATA);
  off_t hole;

  extent->len = UINT64_MAX;
  extent->zero = false;
  if (data == -1 && errno == ENXIO && lseek (access->fd, 0, SEEK_END) < size)
    return error_set (error, "the file was truncated while it was read");
  if (data == -1) {
    extent->zero = errno == ENXIO; /* no data up to the end */
    return 0;
  }
  if (data > at) {
    extent->len = data - at;
    extent->zero = true;
    return 0;
  }
  hole = lseek (access->fd, at, SEEK_HOLE);
  if (hole > at)
    extent->len = hole - at;
#else
  (void) access; (void) at; (void) size; (void) error;
  extent->len = UINT64_MAX;
  extent->zero = false;
#endif
  return 0;
}
