/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where a file has data, and where it has holes.
 */

#ifndef BLKSUM_FILE_EXTENT_H
#define BLKSUM_FILE_EXTENT_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct file;

/* The extent that was found last, in bytes of the file.  All zeros: none. */
struct file_extent {
  const struct file *file;
  uint64_t start, end;
  bool hole;
  bool data_follows;            /* at its end */
};

/* Set EXTENT to the one of FILE that AT is in; each lookup can be a request to
 * a server.  If the file is shorter than it was, that is an error.  Returns 0
 * or -1.
 */
int file_extent_find (struct file_extent *extent, const struct file *file,
                      uint64_t at, struct error *error);

#endif /* BLKSUM_FILE_EXTENT_H */
