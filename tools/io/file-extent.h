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

/* A cache of the last extent, from START to END.  START is the offset of the
 * lookup, which can be in the middle of the extent.  END can be beyond the end
 * of the file.  Initialize it to zeros.  One thread at a time uses it.
 */
struct file_extent {
  const struct file *file;
  uint64_t start, end;
  bool hole;
  bool hole_follows;            /* END was the end of data in this lookup */
};

/* Set EXTENT to the extent of FILE that contains offset AT.  A lookup, which
 * can be a request to a file server, is omitted if EXTENT already contains AT.
 * Returns 0, or -1 with ERROR if the lookup finds that FILE became shorter.
 */
int file_extent_find (struct file_extent *extent, const struct file *file,
                      uint64_t at, struct error *error);

#endif /* BLKSUM_FILE_EXTENT_H */
