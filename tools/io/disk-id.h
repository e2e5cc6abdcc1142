/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Do two files have the same content, because they are the same file or device,
 * under any name?
 */

#ifndef BLKSUM_DISK_ID_H
#define BLKSUM_DISK_ID_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

struct disk_layers;
struct files;

/* A loop device has the id of its file. */
struct disk_id {
  dev_t number;                 /* of the block device itself; otherwise 0 */
  dev_t device;                 /* of a block device; otherwise 0 */
  dev_t dev;                    /* of a regular file: where it is, */
  ino_t ino;                    /* and its number there */
};

/* FD is open, and ST is its state. */
struct disk_id disk_id_of (int fd, const struct stat *st);

/* The same for PATH.  Returns false if it is no file that can be opened. */
bool disk_id_of_path (const char *path, struct disk_id *id);

/* Add the file or device ID to LAYERS, and what is below it. */
void disk_id_find_layers (const struct disk_id *id,
                          struct disk_layers *layers);

/* Are A and B the same, or is one made of the other, such as an md or dm device of its
 * disks?  Two devices that are made of the same disk, such as logical volumes, are
 * not the same.
 */
bool disk_id_is_same (const struct disk_id *a, const struct disk_id *b);

/* True if ID is one of FILES, which can be NULL. */
bool disk_id_is_in (const struct disk_id *id, const struct files *files);

#endif /* BLKSUM_DISK_ID_H */
