/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Do two files have the same content, because they are the same file or device?
 *
 * Devices are compared by their numbers, because a device can have several
 * nodes.  A partition counts as another device than its disk.  So does a loop
 * device over another loop device.
 */

#include <config.h>

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "io/block-device.h"
#include "io/disk-id.h"
#include "io/file.h"
#include "io/files.h"

struct disk_id
disk_id_of (int fd, const struct stat *st)
{
  struct loop_file file;

  if (!S_ISBLK (st->st_mode))
    return (struct disk_id) { .dev = st->st_dev, .ino = st->st_ino };
  if (block_device_loop_file (fd, &file))
    return (struct disk_id) {
      .device = file.device, .dev = file.dev, .ino = file.ino
    };
  return (struct disk_id) { .device = st->st_rdev };
}

bool
disk_id_of_path (const char *path, struct disk_id *id)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  struct stat st;
  bool found = fd != -1 && fstat (fd, &st) == 0;

  if (found)
    *id = disk_id_of (fd, &st);
  if (fd != -1)
    close (fd);
  return found;
}

bool
disk_id_is_same (const struct disk_id *a, const struct disk_id *b)
{
  if (a->device || b->device)
    return a->device == b->device;
  return a->dev == b->dev && a->ino == b->ino;
}

bool
disk_id_is_in (const struct disk_id *id, const struct files *files)
{
  const struct file *file;

  for (file = files ? files->first : NULL; file; file = file->next) {
    struct disk_id other = disk_id_of (file->fd, &file->st);

    if (disk_id_is_same (id, &other))
      return true;
  }
  return false;
}
