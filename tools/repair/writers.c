/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Check whether a file or block device to be written is in use by others.
 *
 * Locks and exclusive use do not show all writers.  The image locks of qemu are
 * on the inode that qemu opened.  For a block device this is the inode of the
 * device node.  libvirt runs each qemu in a mount namespace with other device
 * nodes, so the locks of this qemu are not visible here.  And qemu does not
 * open a device exclusively.  But the device number is the same for all nodes,
 * in any mount namespace, so open devices are compared by number.
 *
 * Exclusive use of a block device, such as a mount, does not cover the backing
 * file of a loop device, or other loop devices with the same backing file.
 * Therefore writable loop devices are searched for.
 *
 * These writers are not found: processes of other users, unless this process
 * runs as root; processes in PID namespaces that /proc does not show; the
 * kernel, unless it uses a loop device exclusively, for example because of a
 * mount; and other hosts.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "repair/block-device.h"
#include "repair/disk-id.h"
#include "repair/disk-layers.h"
#include "repair/proc-files.h"
#include "repair/writers.h"
#include "util/error.h"

struct use {
  struct disk_layers layers;    /* of the disk; check_loops adds the loop
                                 * devices that are backed by these */
  struct proc_file writer;
  struct error *error;
};

/* ---- Loop devices ---- */

static int
check_exclusive (const struct use *use, dev_t loop)
{
  int fd = block_device_open (loop, O_EXCL);
  char node[PATH_MAX] = "?";

  if (fd != -1)
    close (fd);
  else if (errno == EBUSY) {
    block_device_node (loop, node, sizeof node);
    return error_set (use->error, "is in use: the loop device '%s' over it is "
                      "mounted, or in exclusive use", node);
  }
  return 0;
}

static bool
is_over (const struct disk_layers *layers, dev_t loop)
{
  int fd = block_device_open (loop, 0);
  struct loop_file file;
  bool found = fd != -1 && block_device_loop_file (fd, &file) &&
    (file.device ? disk_layers_overlap (layers, file.device)
     : disk_layers_have_file (layers, file.dev, file.ino));

  if (fd != -1)
    close (fd);
  return found;
}

/* If LOOP is a writable loop device that is backed by one of the layers, add it
 * to the layers, and check that it is not in exclusive use.  LOOP is skipped if
 * it, or one of its partitions, is already a layer.  Such a loop device was
 * added by an earlier call; or it is the disk, which direct_file_open opened
 * exclusively; or the disk is built on it, and the device above it uses it
 * exclusively.
 */
static int
check_loop (void *opaque, dev_t loop)
{
  struct use *use = opaque;
  char text[16];

  if (!block_device_attribute (loop, "loop/backing_file", text, sizeof text) ||
      (block_device_attribute (loop, "ro", text, sizeof text) &&
       strcmp (text, "0") != 0) ||
      disk_layers_overlap (&use->layers, loop) ||
      !is_over (&use->layers, loop))
    return 0;
  disk_layers_add_device (&use->layers, loop);
  return check_exclusive (use, loop);
}

/* Repeat the search, because loop devices can be stacked on loop devices. */
static int
check_loops (struct use *use)
{
  size_t before;

  do {
    before = use->layers.count;
    if (block_device_each_disk (check_loop, use) == -1)
      return -1;
  } while (use->layers.count > before);
  return 0;
}

/* ---- Processes ---- */

static int
check_writer (void *opaque, const struct proc_file *file)
{
  struct use *use = opaque;

  use->writer = *file;
  return file->number ? disk_layers_overlap (&use->layers, file->number)
    : disk_layers_have_file (&use->layers, file->dev, file->ino);
}

static int
refuse (const struct use *use)
{
  const struct disk_layer *disk = &use->layers.layer[0];
  const struct proc_file *writer = &use->writer;
  bool same = writer->number ? writer->number == disk->number
    : !disk->number && writer->ino == disk->ino;
  char name[32];

  proc_name (writer->pid, name, sizeof name);
  return error_set (use->error, "is in use: process %lu (%s) has %s open for "
                    "writing", writer->pid, name, same ? "it"
                    : "a device or file that overlaps it");
}

int
writers_check (int fd, const struct stat *st, struct error *error)
{
  struct disk_id id = disk_id_of (fd, st);
  struct use use = { .error = error };
  int r;

  disk_id_find_layers (&id, &use.layers);
  if (check_loops (&use) == -1)
    return -1;
  if (use.layers.incomplete)
    return error_set (error, "is made of too many devices");
  r = proc_files_each (fd, check_writer, &use, error);
  return r == 1 ? refuse (&use) : r;
}
