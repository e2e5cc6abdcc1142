/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "repair/block-device.h"

#define PATH_SIZE 128

static void
format_path (char path[PATH_SIZE], dev_t dev, const char *folder,
             const char *name)
{
  snprintf (path, PATH_SIZE, "/sys/dev/block/%u:%u/%s%s", major (dev),
            minor (dev), folder, name);
}

/* ---- Attributes ---- */

bool
block_device_exists (dev_t dev)
{
  char path[PATH_SIZE];

  format_path (path, dev, "", "");
  return access (path, F_OK) == 0;
}

/* Store the file PATH in TEXT, relative to the directory AT if PATH is, and at
 * most SIZE - 1 bytes.
 */
static bool
read_text (int at, const char *path, char *text, size_t size)
{
  int fd = openat (at, path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd == -1 ? -1 : read (fd, text, size - 1);

  if (fd != -1)
    close (fd);
  text[n > 0 ? n : 0] = '\0';
  return n > 0;
}

static bool
read_attribute (dev_t dev, const char *folder, const char *name, char *text,
                size_t size)
{
  char path[PATH_SIZE];

  format_path (path, dev, folder, name);
  if (!read_text (AT_FDCWD, path, text, size))
    return false;
  text[strcspn (text, "\n")] = '\0';
  return true;
}

bool
block_device_attribute (dev_t dev, const char *name, char *text, size_t size)
{
  return read_attribute (dev, "", name, text, size);
}

bool
block_device_disk_attribute (dev_t dev, const char *name, char *text,
                             size_t size)
{
  return read_attribute (dev, "", name, text, size) ||
    read_attribute (dev, "../", name, text, size);
}

/* ---- Other devices ---- */

/* Read a device number, such as "7:0", from the file PATH into *DEV.  Returns
 * false if that fails.
 */
static bool
read_number (int at, const char *path, dev_t *dev)
{
  unsigned major_number, minor_number;
  char text[32];

  if (!read_text (at, path, text, sizeof text) ||
      sscanf (text, "%u:%u", &major_number, &minor_number) != 2)
    return false;
  *dev = makedev (major_number, minor_number);
  return true;
}

dev_t
block_device_whole (dev_t dev)
{
  char path[PATH_SIZE], text[32];
  dev_t whole;

  format_path (path, dev, "../", "dev");
  return read_attribute (dev, "", "partition", text, sizeof text) &&
    read_number (AT_FDCWD, path, &whole) ? whole : dev;
}

DIR *
block_device_slaves (dev_t dev)
{
  char path[PATH_SIZE];

  format_path (path, dev, "", "slaves");
  if (access (path, F_OK) == -1)
    format_path (path, dev, "../", "slaves");
  return opendir (path);
}

DIR *
block_device_disks (void)
{
  return opendir ("/sys/block");
}

bool
block_device_next (DIR *list, dev_t *dev)
{
  char path[NAME_MAX + sizeof "/dev"];
  struct dirent *entry;

  while (list && (entry = readdir (list))) {
    snprintf (path, sizeof path, "%s/dev", entry->d_name);
    if (entry->d_name[0] != '.' && read_number (dirfd (list), path, dev))
      return true;
  }
  if (list)
    closedir (list);
  return false;
}

/* ---- Opening ---- */

bool
block_device_node (dev_t dev, char *node, size_t size)
{
  char path[PATH_SIZE], text[1024], name[PATH_SIZE];
  const char *line;

  format_path (path, dev, "", "uevent");
  line = read_text (AT_FDCWD, path, text, sizeof text)
    ? strstr (text, "DEVNAME=") : NULL;
  if (!line || sscanf (line, "DEVNAME=%127s", name) != 1)
    return false;
  snprintf (node, size, "/dev/%s", name);
  return true;
}

int
block_device_open (dev_t dev, int flags)
{
  char node[PATH_SIZE + sizeof "/dev/"];
  struct stat st;
  int fd;

  if (!block_device_node (dev, node, sizeof node)) {
    errno = ENOENT;
    return -1;
  }
  fd = open (node, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags);
  if (fd != -1 &&
      (fstat (fd, &st) == -1 || !S_ISBLK (st.st_mode) || st.st_rdev != dev)) {
    close (fd);
    fd = -1;
    errno = ENOENT;
  }
  return fd;
}

/* ---- Loop devices ---- */

/* If the backing file is a regular file, Linux reports the device of its file
 * system both as lo_device and as lo_rdevice.
 */
bool
block_device_loop_file (int fd, struct disk_file *file)
{
  struct loop_info64 info = { .lo_number = 0 };

  if (ioctl (fd, LOOP_GET_STATUS64, &info) == -1)
    return false;
  *file = (struct disk_file) {
    .device = info.lo_rdevice == info.lo_device ? 0 : info.lo_rdevice,
    .dev = info.lo_device, .ino = info.lo_inode
  };
  return true;
}

uint64_t
block_device_loop_start (dev_t dev)
{
  char offset[32] = "0", sectors[32] = "0";

  block_device_disk_attribute (dev, "loop/offset", offset, sizeof offset);
  block_device_attribute (dev, "start", sectors, sizeof sectors);
  return strtoull (offset, NULL, 10) + strtoull (sectors, NULL, 10) * 512;
}
