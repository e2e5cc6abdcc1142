/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What Linux says of a block device in /sys.
 *
 * The directory of a partition is in that of its disk, and has less: what only
 * the disk has is read there.
 */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/sysmacros.h>
#endif
#include <unistd.h>

#include "io/block-device.h"

#define PATH_SIZE 128

static void
format_path (char path[PATH_SIZE], dev_t dev, const char *folder,
             const char *name)
{
  snprintf (path, PATH_SIZE, "/sys/dev/block/%u:%u/%s%s", major (dev),
            minor (dev), folder, name);
}

bool
block_device_exists (dev_t dev)
{
  char path[PATH_SIZE];

  format_path (path, dev, "", "");
  return access (path, F_OK) == 0;
}

static bool
read_attribute (dev_t dev, const char *folder, const char *name, char *text,
                size_t size)
{
  char path[PATH_SIZE];
  FILE *file;
  bool found;

  format_path (path, dev, folder, name);
  file = fopen (path, "re");
  found = file && fgets (text, size, file);
  if (file)
    fclose (file);
  if (found)
    text[strcspn (text, "\n")] = '\0';
  return found;
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

uint64_t
block_device_loop_start (dev_t dev)
{
  char offset[32] = "0", sectors[32] = "0";

  block_device_disk_attribute (dev, "loop/offset", offset, sizeof offset);
  block_device_attribute (dev, "start", sectors, sizeof sectors);
  return strtoull (offset, NULL, 10) + strtoull (sectors, NULL, 10) * 512;
}
