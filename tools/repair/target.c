/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../lib/common/same-file.h"
#include "../lib/common/util.h"
#include "io/file-read.h"
#include "io/file.h"
#include "repair/target.h"
#include "repair/writers.h"
#include "source/source.h"
#include "util/error.h"

/* ---- Does direct I/O reach the storage? ---------------------------------- */

/* Many file systems accept O_DIRECT but use the page cache, some of them only
 * for certain files, such as compressed files on btrfs.  Reading back from the
 * page cache would prove nothing.  Therefore only file systems whose direct
 * I/O is known to bypass the page cache are accepted, and only if the kernel
 * reports that the file supports direct I/O.  On ext4, for example, a file
 * with journaled data does not.
 *
 * The physical sectors of a drive can be larger than its logical sectors
 * ("512e").  To write a part of a physical sector, the drive reads and
 * rewrites the whole sector, and a power failure at that moment can destroy
 * good adjacent blocks.  Therefore only whole physical sectors are written.
 *
 * A loop device must use direct I/O, because otherwise it reads from the page
 * cache of its backing file.  With direct I/O it is as good as that file, and a
 * file system on the loop device is as good as the loop device.  Other stacked
 * devices, such as those of dm and md, are trusted to pass on flushes and to
 * read from the devices below them, so they are as good as those devices.
 */

#define MAX_DEPTH 8             /* layers of stacked devices */

#define EXT4 0xef53             /* f_type, see statfs(2); also ext2 and ext3 */
#define XFS 0x58465342

/* ---- File systems ---- */

#ifdef STATX_DIOALIGN

/* Returns the alignment for direct I/O, or 0 if the file does not support
 * direct I/O or the kernel does not report the alignment.  The alignment is at
 * least the block size of the file system, because a write of part of a block
 * can go through the page cache.
 */
static uint32_t
find_align (int fd)
{
  struct statx stx;

  if (statx (fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &stx) == -1 ||
      !(stx.stx_mask & STATX_DIOALIGN) || stx.stx_dio_mem_align == 0 ||
      stx.stx_dio_offset_align == 0)
    return 0;
  return MAX (stx.stx_dio_offset_align, stx.stx_blksize);
}

#else

static uint32_t
find_align (int fd)
{
  (void) fd;
  return 0;
}

#endif

/* Check the file system of FD, raise *ALIGN to the alignment that direct I/O on
 * the file needs, and set *BLOCK to the block size of the file system.
 */
static int
check_storage_file (int fd, uint32_t *align, uint32_t *block,
                    struct error *error)
{
  struct statfs fs;
  uint32_t needed;

  if (fstatfs (fd, &fs) == -1)
    return error_errno (error, errno, "cannot find its file system");
  if (fs.f_type != EXT4 && fs.f_type != XFS)
    return error_set (error, "cannot be repaired: direct I/O on its file "
                      "system, of type 0x%lx, can be answered from the page "
                      "cache; repair it on the host that stores it on ext4, "
                      "xfs or a block device", (unsigned long) fs.f_type);
  needed = find_align (fd);
  if (needed == 0)
    return error_set (error, "cannot be repaired: the kernel does not say that "
                      "direct I/O of this file bypasses the page cache (Linux "
                      "6.1 and later can say so, but not for a file with data "
                      "journaling, encryption or fs-verity)");
  *align = MAX (*align, needed);
  *block = fs.f_bsize;
  return 0;
}

/* ---- Devices ---- */

/* Raise *ALIGN to the physical sector size of DEV, which is either the device
 * to write or the device of a file system.  Fail if DEV starts within a
 * physical sector.
 */
static int
check_sectors (dev_t dev, uint32_t *align, struct error *error)
{
  char physical[16] = "0", misaligned[16] = "0";

  block_device_disk_attribute (dev, "queue/physical_block_size", physical,
                               sizeof physical);
  block_device_attribute (dev, "alignment_offset", misaligned,
                          sizeof misaligned);
  if (strcmp (misaligned, "0") != 0)
    return error_set (error, "cannot be repaired: it begins within a physical "
                      "sector of %s bytes of its drive, so that each write "
                      "would also write what is beside it", physical);
  *align = MAX (*align, (uint32_t) strtoul (physical, NULL, 10));
  return 0;
}

static int
check_device (dev_t dev, unsigned depth, uint32_t *align, struct error *error);

/* Check the file FD, which is in a file system on DEV, and check DEV.  The file
 * can start at any block of the file system.  So aligned offsets in the file
 * are aligned on DEV only if the block size of the file system is a multiple of
 * the alignment of DEV.
 */
static int
check_file_system (int fd, dev_t dev, unsigned depth, uint32_t *align,
                   struct error *error)
{
  uint32_t block = 1, needed = 1;

  if (check_storage_file (fd, align, &block, error) == -1 ||
      check_device (dev, depth, &needed, error) == -1)
    return -1;
  if (block % needed == 0)
    return 0;
  return error_set (error, "cannot be repaired: its file system has blocks of "
                    "%u bytes, and its device is written in units of %u, so "
                    "that a write could also write what is beside it", block,
                    needed);
}

static int
check (int fd, unsigned depth, uint32_t *align, struct error *error)
{
  struct stat st;
  int sector;

  if (fstat (fd, &st) == -1)
    return error_errno (error, errno, "cannot find its storage");
  if (!S_ISBLK (st.st_mode))
    return check_file_system (fd, st.st_dev, depth, align, error);
  if (ioctl (fd, BLKSSZGET, &sector) == -1)
    return error_errno (error, errno, "cannot find its sector size");
  *align = MAX (*align, (uint32_t) sector);
  return check_device (st.st_rdev, depth, align, error);
}

/* Check that BACKING, which was opened at the path in /sys, is the backing file
 * of the loop device DEV.  The path can name another file if the backing file
 * was removed or is in another mount namespace.
 */
static int
check_same (dev_t dev, int backing, struct error *error)
{
  int fd = block_device_open (dev, 0);
  struct disk_file file;
  struct stat st;
  bool known = fd != -1 && block_device_loop_file (fd, &file);

  if (fd != -1)
    close (fd);
  if (!known)
    return error_set (error, "may be another file: the device cannot be "
                      "opened");
  if (fstat (backing, &st) == -1)
    return error_errno (error, errno, "cannot be compared");
  if (S_ISBLK (st.st_mode) ? st.st_rdev == file.device
      : st.st_dev == file.dev && st.st_ino == file.ino)
    return 0;
  return error_set (error, "is another file now");
}

/* Check the backing file of the loop device DEV.  PATH is the path that /sys
 * reports for the backing file.
 */
static int
check_backing (dev_t dev, const char *path, unsigned depth, uint32_t *align,
               struct error *error)
{
  struct error reason = { "" };
  int backing = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  int r = -1;

  if (backing == -1)
    error_errno (&reason, errno, "cannot be opened");
  else if (check_same (dev, backing, &reason) == 0 &&
           lock_image_for_writing (backing, false, &reason) == 0)
    r = check (backing, depth + 1, align, &reason);
  if (backing != -1)
    close (backing);
  return r == 0 ? 0
    : error_set (error, "cannot be repaired: the backing file of its loop "
                 "device, '%s', %s", path, reason.text);
}

/* Check DEV and all devices and files below it. */
static int
check_layer (dev_t dev, unsigned depth, uint32_t *align, struct error *error)
{
  char path[PATH_MAX], direct[8] = "";
  dev_t slave;
  DIR *slaves;

  if (depth > MAX_DEPTH)
    return error_set (error, "cannot be repaired: it is made of more than %d "
                      "layers of devices", MAX_DEPTH);
  if (!block_device_exists (dev))
    return error_set (error, "cannot be repaired: /sys does not say what "
                      "device %u:%u is", major (dev), minor (dev));
  slaves = block_device_slaves (dev);
  while (block_device_next (slaves, &slave))
    if (check_layer (slave, depth + 1, align, error) == -1) {
      closedir (slaves);
      return -1;
    }
  if (!block_device_disk_attribute (dev, "loop/backing_file", path,
                                    sizeof path))
    return 0;
  if (!block_device_disk_attribute (dev, "loop/dio", direct, sizeof direct) ||
      strcmp (direct, "1") != 0)
    return error_set (error, "cannot be repaired: it is on a loop device that "
                      "answers from the page cache; use losetup "
                      "--direct-io=on, or repair '%s'", path);
  if (check_backing (dev, path, depth, align, error) == -1)
    return -1;
  if (block_device_loop_start (dev) % *align != 0)
    return error_set (error, "cannot be repaired: it begins within a unit in "
                      "which '%s' is written", path);
  return 0;
}

/* Check DEV, its sectors, and all devices and files below it.  The sectors of
 * its slaves are not checked, because the kernel derives the sectors of a
 * stacked device from those of its slaves.
 */
static int
check_device (dev_t dev, unsigned depth, uint32_t *align, struct error *error)
{
  if (check_sectors (dev, align, error) == -1)
    return -1;
  return check_layer (dev, depth, align, error);
}

/* Check that direct I/O on FD, a regular file or block device, bypasses the
 * page cache, as far as the kernel reports that.  If FD is on a loop device,
 * check also that its backing file is not locked by a program of qemu.  Store
 * in *ALIGN the alignment, in bytes, that the offset and the length of a write
 * need, or else the drive or the file system would rewrite adjacent data too.
 * Returns 0, or -1 with the reason in ERROR.
 */
static int
direct_storage_check (int fd, uint32_t *align, struct error *error)
{
  *align = 1;
  return check (fd, 0, align, error);
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
  return err == 0 ? 0
    : error_errno (error, err, "cannot read at offset %" PRIu64, offset);
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
                          "cannot write at offset %" PRIu64, offset + done);
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
    error_set (error, "was written at offset %" PRIu64 ", but another program "
               "has read or written this range, through the page cache: "
               "reading the range back would not prove that the storage has "
               "the data", offset);
  else
    r = 0;
 out:
  if (map != MAP_FAILED)
    munmap (map, size);
  free (cached);
  return r;
}

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

/* Check that the image of SIZE bytes is the whole disk or, with --size, its
 * first bytes.
 */
static int
check_image_size (struct target *target, uint64_t size, struct error *error)
{
  uint64_t full = target->source->size, option = target->options.size;

  if (option == SOURCE_WHOLE && full != size)
    return error_set (error, "has %" PRIu64 " bytes, but the image of the "
                      "manifest has %" PRIu64 "%s", full, size, full > size
                      ? "; --size is for an image on a larger disk" : "");
  if (option != SOURCE_WHOLE && full < option)
    return error_set (error, "has only %" PRIu64 " bytes, fewer than the %"
                      PRIu64 " of --size", full, option);
  if (option != SOURCE_WHOLE && option != size)
    return error_set (error, "--size is %" PRIu64 " bytes, but the image of "
                      "the manifest has %" PRIu64, option, size);
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
  if (same_state (&target->st, &now))
    return 0;
  return error_set (error, "the file changed while it was read; "
                    "nothing was written");
}

int
target_check_same (const struct target *target, struct error *error)
{
  struct stat now;
  uint64_t size;

  if (find_size (target->fd, &size, error) == -1)
    return -1;
  if (size != target->size)
    return error_set (error, "changed its size from %" PRIu64 " to %" PRIu64
                      " bytes", target->size, size);
  return stat (target->path, &now) == 0 && same_disk (&target->st, &now) ? 0
    : error_set (error, "was replaced by another file");
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
