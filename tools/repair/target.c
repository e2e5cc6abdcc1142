/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../lib/common/util.h"
#include "io/file.h"
#include "io/files.h"
#include "io/lock.h"
#include "io/read.h"
#include "repair/direct-storage.h"
#include "repair/target.h"
#include "repair/writers.h"
#include "source/open.h"
#include "source/source.h"
#include "util/error.h"

/* ---- Opening ---- */

static int
check_operand (const char *operand, struct error *error)
{
  if (strcmp (operand, "-") == 0)
    return error_set (error, "standard input cannot be repaired");
  if (source_is_uri (operand))
    return error_set (error, "an NBD export cannot be repaired, because "
                      "nothing shows who else writes to it; repair the file "
                      "or block device on the host that has it");
  return 0;
}

/* Linux lets a read-only block device be opened for writing. */
static bool
is_read_only_device (int fd)
{
  int read_only;

  return ioctl (fd, BLKROGET, &read_only) == 0 && read_only;
}

/* Returns the file type of PATH, such as S_IFREG, or -1 with the reason in
 * ERROR.
 */
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

/* On a block device, O_EXCL fails if the device is mounted or otherwise in use
 * by the kernel.  On other files O_EXCL without O_CREAT is undefined.
 * O_NONBLOCK avoids blocking if the file was replaced by a FIFO.
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
find_size (int fd, uint64_t *size, struct error *error)
{
  off_t end = lseek (fd, 0, SEEK_END);

  *size = end;
  return end == -1 ? error_errno (error, errno, "cannot find the size") : 0;
}

/* Make all reads and writes direct. */
static int
set_direct (struct target *target, struct error *error)
{
  int flags = fcntl (target->fd, F_GETFL);

  if (direct_storage_check (target->fd, &target->align, error) == -1)
    return -1;
  if (flags == -1 || fcntl (target->fd, F_SETFL, flags | O_DIRECT) == -1)
    return error_errno (error, errno, "cannot be repaired without direct I/O");
  return 0;
}

static int
check_file (struct target *target, int type, bool read_only,
            struct error *error)
{
  if (fstat (target->fd, &target->st) == -1)
    return error_errno (error, errno, "cannot open");
  if ((target->st.st_mode & S_IFMT) != (mode_t) type)
    return error_set (error, "was replaced while it was opened");
  if (!read_only && type == S_IFBLK && is_read_only_device (target->fd))
    return error_set (error, "cannot be written: the device is read-only");
  if (lock_image_for_writing (target->fd, true, error) == -1 ||
      writers_check (target->fd, &target->st, error) == -1 ||
      set_direct (target, error) == -1 ||
      (!read_only && target_sync (target, error) == -1) ||
      find_size (target->fd, &target->size, error) == -1)
    return -1;
  disk_layers_init (&target->layers, target->fd, &target->st);
  return 0;
}

/* Check that the image of EXPECTED bytes is the whole disk or, with --size,
 * its first bytes.
 */
static int
check_image_size (struct target *target, uint64_t expected,
                  struct error *error)
{
  unsigned long long full = target->source->size, size = expected;
  unsigned long long option = target->options.size;

  if (option == SOURCE_WHOLE && full != size)
    return error_set (error, "has %llu bytes, but the image of the manifest "
                      "has %llu%s", full, size, full > size
                      ? "; --size is for an image on a larger disk" : "");
  if (option != SOURCE_WHOLE && full < option)
    return error_set (error, "has only %llu bytes, fewer than the %llu of "
                      "--size", full, option);
  if (option != SOURCE_WHOLE && option != size)
    return error_set (error, "--size is %llu bytes, but the image of the "
                      "manifest has %llu", option, size);
  target->source->size = size;
  return 0;
}

int
target_open (struct target *target, uint64_t size, bool read_only,
             struct error *error)
{
  int type;

  if (check_operand (target->path, error) == -1 ||
      (type = find_type (target->path, error)) == -1 ||
      (target->fd = open_path (target->path, type, read_only, error)) == -1)
    return -1;
  if (check_file (target, type, read_only, error) == 0 &&
      source_open_raw (&target->options, target->fd, &target->source,
                       error) == 0) {
    if (check_image_size (target, size, error) == 0)
      return 0;
    source_close (target->source);
  }
  close (target->fd);
  return -1;
}

void
target_close (struct target *target)
{
  source_close (target->source);
  close (target->fd);
}

/* ---- Changes by others ---- */

int
target_check_unmodified (const struct target *target, struct error *error)
{
  struct stat now;

  if (writers_check (target->fd, &target->st, error) == -1)
    return -1;
  if (fstat (target->fd, &now) == -1)
    return error_errno (error, errno, "cannot read");
  if (S_ISBLK (now.st_mode) ||
      (now.st_size == target->st.st_size &&
       now.st_mtim.tv_sec == target->st.st_mtim.tv_sec &&
       now.st_mtim.tv_nsec == target->st.st_mtim.tv_nsec))
    return 0;
  return error_set (error, "the file changed while it was read; "
                    "nothing was written");
}

int
target_check_same (const struct target *target, struct error *error)
{
  struct stat now;
  uint64_t size;
  bool same;

  if (find_size (target->fd, &size, error) == -1)
    return -1;
  if (size != target->size)
    return error_set (error, "changed its size from %llu to %llu bytes",
                      (unsigned long long) target->size,
                      (unsigned long long) size);
  same = stat (target->path, &now) == 0;
  if (same && S_ISBLK (target->st.st_mode))
    same = S_ISBLK (now.st_mode) && now.st_rdev == target->st.st_rdev;
  else if (same)
    same = now.st_dev == target->st.st_dev && now.st_ino == target->st.st_ino;
  return same ? 0 : error_set (error, "was replaced by another file");
}

/* ---- Reading and writing ---- */

int
target_read (const struct target *target, void *buf, size_t len,
             uint64_t offset, struct error *error)
{
  const struct read_file direct = { .fd = target->fd, .direct_fd = -1 };
  int err = read_range (&direct, buf, len, len, offset);

  if (err == -1)
    return error_set (error, "was truncated while it was repaired");
  return err == 0 ? 0 : error_errno (error, err, "cannot read at offset %llu",
                                     (unsigned long long) offset);
}

int
target_write (const struct target *target, const void *buf, size_t len,
              uint64_t offset, struct error *error)
{
  size_t done = 0;

  while (done < len) {
    ssize_t n = pwrite (target->fd, (const char *) buf + done, len - done,
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
target_sync (const struct target *target, struct error *error)
{
  if (fdatasync (target->fd) == -1)
    return error_errno (error, errno, "cannot flush what was written");
  return 0;
}

/* The mapping is only used for mincore(2), and is never accessed. */
int
target_check_uncached (const struct target *target, size_t len,
                       uint64_t offset, struct error *error)
{
  size_t page = sysconf (_SC_PAGESIZE);
  uint64_t start = ROUND_DOWN (offset, (uint64_t) page);
  size_t size = offset + len - start, pages = DIV_ROUND_UP (size, page);
  void *map = mmap (NULL, size, PROT_READ, MAP_SHARED, target->fd, start);
  unsigned char *cached = calloc (pages, 1);
  bool found = false;
  int r = -1;

  if (!cached || map == MAP_FAILED ||
      mincore (map, size, (void *) cached) == -1) {
    error_errno (error, errno, "cannot find out what is cached");
    goto out;
  }
  for (size_t i = 0; i < pages; i++)
    found |= cached[i] & 1;
  if (found)
    error_set (error, "was written at offset %llu, but another program has "
               "read or written this range, through the page cache: reading "
               "the range back would not prove that the storage has the data",
               (unsigned long long) offset);
  else
    r = 0;
 out:
  if (map != MAP_FAILED)
    munmap (map, size);
  free (cached);
  return r;
}

/* ---- Sources ---- */

static bool
is_disk (const struct target *target, int fd, const struct stat *st)
{
  struct disk_layers layers;

  disk_layers_init (&layers, fd, st);
  return disk_layers_are_same (&target->layers, &layers);
}

bool
target_is_operand (const struct target *target, const char *operand)
{
  int fd = source_is_uri (operand) ? -1
    : open (operand, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  struct stat st;
  bool same = fd != -1 && fstat (fd, &st) == 0 && is_disk (target, fd, &st);

  if (fd != -1)
    close (fd);
  return same;
}

bool
target_is_in (const struct target *target, const struct source *source)
{
  const struct file *file = source->files ? source->files->first : NULL;

  for (; file; file = file->next)
    if (is_disk (target, file->fd, &file->st))
      return true;
  return false;
}
