/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Information about block devices from /sys on Linux.
 *
 * The directory of a partition is a subdirectory of the directory of its disk,
 * and has fewer attributes.  Attributes that only the disk has are read from
 * the parent directory.
 */

#include <config.h>

#include <dirent.h>
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

/* Store the first line of the file PATH in TEXT. */
static bool
read_line (const char *path, char *text, size_t size)
{
  FILE *file = fopen (path, "re");
  bool found = file && fgets (text, size, file);

  if (file)
    fclose (file);
  if (found)
    text[strcspn (text, "\n")] = '\0';
  return found;
}

static bool
read_attribute (dev_t dev, const char *folder, const char *name, char *text,
                size_t size)
{
  char path[PATH_SIZE];

  format_path (path, dev, folder, name);
  return read_line (path, text, size);
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
read_number (const char *path, dev_t *dev)
{
  unsigned major_number, minor_number;
  char text[32];

  if (!read_line (path, text, sizeof text) ||
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
    read_number (path, &whole) ? whole : dev;
}

/* Call FUNCTION for each device with a directory or link in FOLDER, until
 * FUNCTION returns non-zero.
 */
static int
each_device (const char *folder, int (*function) (void *opaque, dev_t dev),
             void *opaque)
{
  char path[PATH_SIZE + NAME_MAX + sizeof "//dev"];
  DIR *dir = opendir (folder);
  struct dirent *entry;
  dev_t dev;
  int r = 0;

  while (dir && r == 0 && (entry = readdir (dir))) {
    snprintf (path, sizeof path, "%s/%s/dev", folder, entry->d_name);
    if (entry->d_name[0] != '.' && read_number (path, &dev))
      r = function (opaque, dev);
  }
  if (dir)
    closedir (dir);
  return r;
}

int
block_device_each_slave (dev_t dev, int (*function) (void *opaque, dev_t slave),
                         void *opaque)
{
  char path[PATH_SIZE];

  format_path (path, dev, "", "slaves");
  if (access (path, F_OK) == -1)
    format_path (path, dev, "../", "slaves");
  return each_device (path, function, opaque);
}

int
block_device_each_disk (int (*function) (void *opaque, dev_t disk),
                        void *opaque)
{
  return each_device ("/sys/block", function, opaque);
}

/* ---- Opening ---- */

bool
block_device_node (dev_t dev, char *node, size_t size)
{
  char path[PATH_SIZE], line[PATH_SIZE], name[PATH_SIZE];
  bool found = false;
  FILE *file;

  format_path (path, dev, "", "uevent");
  file = fopen (path, "re");
  while (file && !found && fgets (line, sizeof line, file))
    found = sscanf (line, "DEVNAME=%127s", name) == 1;
  if (file)
    fclose (file);
  if (found)
    snprintf (node, size, "/dev/%s", name);
  return found;
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
block_device_loop_file (int fd, struct loop_file *file)
{
  struct loop_info64 info = { .lo_number = 0 };

  if (ioctl (fd, LOOP_GET_STATUS64, &info) == -1)
    return false;
  *file = (struct loop_file) {
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
