/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The layers of a disk: the disk itself, and all files and block devices that
 * it is built on.
 *
 * A loop device, or a partition of one, is built on its backing file, and an
 * md or dm device is built on its slaves.  The device below the file system of
 * a regular file is not a layer: writes of the file system to other files do
 * not matter.
 *
 * Devices are compared by device number, because a device can have several
 * nodes, also in other mount namespaces.
 */

#include <config.h>

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "io/file.h"
#include "io/files.h"
#include "repair/block-device.h"
#include "repair/disk-layers.h"

/* ---- Adding ---- */

/* Returns false if LAYER is already in LAYERS or there is no room for it. */
static bool
add (struct disk_layers *layers, const struct disk_layer *layer)
{
  if (layer->number ? disk_layers_have_device (layers, layer->number)
      : disk_layers_have_file (layers, layer->dev, layer->ino))
    return false;
  if (layers->count == MAX_DISK_LAYERS) {
    layers->incomplete = true;
    return false;
  }
  layers->layer[layers->count++] = *layer;
  return true;
}

void
disk_layers_add_loop_file (struct disk_layers *layers,
                           const struct loop_file *file)
{
  const struct disk_layer layer = { .dev = file->dev, .ino = file->ino };

  if (file->device)
    disk_layers_add_device (layers, file->device);
  else
    add (layers, &layer);
}

static int
add_slave (void *layers, dev_t slave)
{
  disk_layers_add_device (layers, slave);
  return 0;
}

void
disk_layers_add_device (struct disk_layers *layers, dev_t number)
{
  const struct disk_layer layer = {
    .number = number, .whole = block_device_whole (number)
  };
  struct loop_file file;
  int fd;

  if (!add (layers, &layer))
    return;
  block_device_each_slave (number, add_slave, layers);
  fd = block_device_open (number, 0);
  if (fd != -1 && block_device_loop_file (fd, &file))
    disk_layers_add_loop_file (layers, &file);
  if (fd != -1)
    close (fd);
}

/* ---- Comparing ---- */

bool
disk_layers_have_device (const struct disk_layers *layers, dev_t number)
{
  for (size_t i = 0; i < layers->count; i++)
    if (layers->layer[i].number && layers->layer[i].number == number)
      return true;
  return false;
}

bool
disk_layers_have_file (const struct disk_layers *layers, dev_t dev, ino_t ino)
{
  for (size_t i = 0; i < layers->count; i++) {
    const struct disk_layer *layer = &layers->layer[i];

    if (!layer->number && layer->dev == dev && layer->ino == ino)
      return true;
  }
  return false;
}

bool
disk_layers_overlap (const struct disk_layers *layers, dev_t number)
{
  dev_t whole = block_device_whole (number);

  for (size_t i = 0; i < layers->count; i++) {
    const struct disk_layer *layer = &layers->layer[i];

    if (layer->number && (layer->number == number || layer->number == whole ||
                          layer->whole == number))
      return true;
  }
  return false;
}

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

/* ---- The same disk ---- */

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
