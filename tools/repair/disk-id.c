/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check whether two paths or descriptors refer to the same file or block
 * device.
 *
 * Devices are compared by device number, because a device can have several
 * nodes.  A partition is not the same device as its disk.  But a partition of
 * a loop device is built on the backing file of the loop device.
 */

#include <config.h>

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "io/file.h"
#include "io/files.h"
#include "repair/block-device.h"
#include "repair/disk-id.h"
#include "repair/disk-layers.h"

/* ---- One file or device ---- */

struct disk_id
disk_id_of (int fd, const struct stat *st)
{
  struct loop_file file;

  if (!S_ISBLK (st->st_mode))
    return (struct disk_id) { .dev = st->st_dev, .ino = st->st_ino };
  if (block_device_whole (st->st_rdev) == st->st_rdev &&
      block_device_loop_file (fd, &file))
    return (struct disk_id) {
      .number = st->st_rdev,
      .device = file.device, .dev = file.dev, .ino = file.ino
    };
  return (struct disk_id) { .number = st->st_rdev, .device = st->st_rdev };
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

void
disk_id_find_layers (const struct disk_id *id, struct disk_layers *layers)
{
  const struct loop_file file = {
    .device = id->device, .dev = id->dev, .ino = id->ino
  };

  if (id->number)
    disk_layers_add_device (layers, id->number);
  disk_layers_add_loop_file (layers, &file);
}

/* ---- Comparing ---- */

/* Returns true if TOP is the same as ID or built on it, or has too many layers
 * to know.
 */
static bool
has_layer (const struct disk_id *top, const struct disk_id *id)
{
  struct disk_layers layers = { .count = 0 };

  disk_id_find_layers (top, &layers);
  return layers.incomplete ||
    disk_layers_have_device (&layers, id->number) ||
    disk_layers_have_device (&layers, id->device) ||
    (!id->device && disk_layers_have_file (&layers, id->dev, id->ino));
}

bool
disk_id_is_same (const struct disk_id *a, const struct disk_id *b)
{
  return has_layer (a, b) || has_layer (b, a);
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
