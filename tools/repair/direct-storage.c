/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../lib/common/util.h"
#include "io/lock.h"
#include "repair/block-device.h"
#include "repair/direct-storage.h"
#include "util/error.h"

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
check_file (int fd, uint32_t *align, uint32_t *block, struct error *error)
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

  if (check_file (fd, align, &block, error) == -1 ||
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

int
direct_storage_check (int fd, uint32_t *align, struct error *error)
{
  *align = 1;
  return check (fd, 0, align, error);
}
