/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The extents of a file: data and holes.
 */

#ifndef BLKSUM_FILE_EXTENT_H
#define BLKSUM_FILE_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct file;

/* A cache of the last extent, in bytes of the file.  Initialize it to zeros. */
struct file_extent {
  const struct file *file;
  uint64_t start, end;
  bool hole;
  bool data_follows;            /* the next extent is data */
};

/* Set EXTENT to the extent of FILE that contains offset AT, unless it is
 * cached: a lookup on a network file system can be a request to the server.  It
 * is an error if the file became shorter.  Returns 0 or -1.
 */
int file_extent_find (struct file_extent *extent, const struct file *file,
                      uint64_t at, struct error *error);

#endif /* BLKSUM_FILE_EXTENT_H */
