/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * How the bytes of a regular file or block device are read, and where it has
 * holes.
 */

#ifndef BLKSUM_FILE_ACCESS_H
#define BLKSUM_FILE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/read.h"
#include "util/extent.h"

struct error;
struct file;

struct file_access {
  int fd;                       /* that of the file, or one of our own, */
  bool direct;                  /* for direct I/O */
  enum read_mode mode;
};

/* Choose how to read FILE from START on; CACHE: what was read stays in the
 * page cache.
 */
void file_access_open (struct file_access *access, const struct file *file,
                       uint64_t start, bool cache);

void file_access_close (struct file_access *access);

/* Could FILE, which is read so, be read by direct I/O?  Not every file system
 * has it.
 */
bool file_access_can_direct (const struct file_access *access,
                             const struct file *file);

/* Read LEN bytes at AT, which are those at OFFSET of the image for messages.
 * Any thread.  0 or -1.
 */
int file_access_read (const struct file_access *access, void *buf, size_t len,
                      uint64_t at, uint64_t offset, struct error *error);

/* What is at AT, before SIZE: data or a hole, and how long?  If the file now
 * ends before SIZE, that is an error.  0 or -1.
 */
int file_access_extent (const struct file_access *access, uint64_t at,
                        uint64_t size, struct extent *extent,
                        struct error *error);

#endif /* BLKSUM_FILE_ACCESS_H */
