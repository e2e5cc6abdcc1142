/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Do two files have the same content, because they are the same file or device?
 *
 * Devices are compared by their numbers, because a device can have several
 * nodes.  A partition counts as another device than its disk, also one of a loop
 * device.
 */

#include <config.h>

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "io/block-device.h"
#include "io/disk-id.h"
#include "io/file.h"
#include "io/files.h"

#define MAX_DEPTH 8             /* of devices of devices */

/* ---- One file or device ---- */

static bool
is_partition (dev_t dev)
{
  char number[16];

  return block_device_attribute (dev, "partition", number, sizeof number);
}

struct disk_id
disk_id_of (int fd, const struct stat *st)
{
  struct loop_file file;

  if (!S_ISBLK (st->st_mode))
    return (struct disk_id) { .dev = st->st_dev, .ino = st->st_ino };
  if (!is_partition (st->st_rdev) && block_device_loop_file (fd, &file))
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

/* ---- Comparing ---- */

static bool
is_equal (const struct disk_id *a, const struct disk_id *b)
{
  if (a->device || b->device)
    return a->device == b->device;
  return a->dev == b->dev && a->ino == b->ino;
}

struct search {
  const struct disk_id *id;
  unsigned depth;
};

static int is_below (void *opaque, dev_t dev);

/* Is the device DEV made of that of the search, directly or not? */
static bool
is_made_of (dev_t dev, const struct search *search)
{
  struct search next = { .id = search->id, .depth = search->depth + 1 };

  return search->depth < MAX_DEPTH &&
    block_device_each_slave (dev, is_below, &next) == 1;
}

static int
is_below (void *opaque, dev_t dev)
{
  const struct search *search = opaque;
  int fd = block_device_open (dev);
  struct stat st;
  bool found = dev == search->id->number || dev == search->id->device;

  if (fd != -1 && fstat (fd, &st) == 0) {
    struct disk_id id = disk_id_of (fd, &st);

    found |= is_equal (&id, search->id);
  }
  if (fd != -1)
    close (fd);
  return found || is_made_of (dev, search);
}

static bool
has_layer (const struct disk_id *top, const struct disk_id *id)
{
  const struct search search = { .id = id };

  return top->number && is_made_of (top->number, &search);
}

bool
disk_id_is_same (const struct disk_id *a, const struct disk_id *b)
{
  return is_equal (a, b) || has_layer (a, b) || has_layer (b, a);
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
