/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#include <config.h>

#include <unistd.h>

#include "repair/disk-layers.h"

static bool
have (const struct disk_layers *layers, const struct disk_file *file)
{
  for (size_t i = 0; i < layers->count; i++) {
    const struct disk_file *layer = &layers->layer[i];

    if (file->device ? layer->device == file->device
        : !layer->device && layer->dev == file->dev && layer->ino == file->ino)
      return true;
  }
  return false;
}

/* The backing file of a loop device is added directly after it. */
void
disk_layers_add (struct disk_layers *layers, const struct disk_file *file,
                 int fd)
{
  struct disk_file below;
  DIR *slaves;
  int own;

  if (have (layers, file))
    return;
  if (layers->count == MAX_DISK_LAYERS) {
    layers->incomplete = true;
    return;
  }
  layers->layer[layers->count++] = *file;
  if (!file->device)
    return;
  own = fd == -1 ? block_device_open (file->device, 0) : -1;
  if ((fd != -1 || own != -1) &&
      block_device_loop_file (fd != -1 ? fd : own, &below))
    disk_layers_add (layers, &below, -1);
  if (own != -1)
    close (own);
  slaves = block_device_slaves (file->device);
  below = (struct disk_file) { .device = 0 };
  while (block_device_next (slaves, &below.device))
    disk_layers_add (layers, &below, -1);
}

void
disk_layers_init (struct disk_layers *layers, int fd, const struct stat *st)
{
  const struct disk_file disk = {
    .device = S_ISBLK (st->st_mode) ? st->st_rdev : 0,
    .dev = st->st_dev, .ino = st->st_ino
  };
  struct disk_file file;

  *layers = (struct disk_layers) { .same = 1 };
  disk_layers_add (layers, &disk, fd);
  if (disk.device && block_device_whole (disk.device) == disk.device &&
      block_device_loop_file (fd, &file))
    layers->same = 2;
}

bool
disk_layers_overlap (const struct disk_layers *layers,
                     const struct disk_file *file)
{
  struct disk_file whole = { .device = 0 };

  if (have (layers, file))
    return true;
  if (!file->device)
    return false;
  whole.device = block_device_whole (file->device);
  if (have (layers, &whole))
    return true;
  for (size_t i = 0; i < layers->count; i++)
    if (layers->layer[i].device &&
        block_device_whole (layers->layer[i].device) == file->device)
      return true;
  return false;
}

/* Returns true if B, or the backing file of the loop device B, is one of A. */
static bool
have_disk (const struct disk_layers *a, const struct disk_layers *b)
{
  for (size_t i = 0; i < b->same; i++)
    if (have (a, &b->layer[i]))
      return true;
  return false;
}

bool
disk_layers_are_same (const struct disk_layers *a, const struct disk_layers *b)
{
  return a->incomplete || b->incomplete || have_disk (a, b) ||
    have_disk (b, a);
}
