/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An open regular file or block device.
 *
 * It is read in one way from the first byte to the last, so that what is
 * checked is what is hashed.  What is in it is not known here.
 */

#ifndef BLKSUM_FILE_H
#define BLKSUM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "io/read.h"
#include "util/error.h"

struct file {
  struct file *next;            /* in its struct files */
  char *path;                   /* it was opened at; NULL: not by us */
  bool named;                   /* in messages; the operand need not be */
  bool by_path;                 /* qemu opens what is at its path */
  int fd;
  struct read_file data;        /* how data is read: data.fd is the same, or
                                 * another for direct I/O */
  bool direct;                  /* data.fd is for direct I/O */
  uint64_t size;                /* bytes */
  struct stat st;               /* before anything was read */
};

/* FD is seekable and was opened at PATH, and becomes the file's in any case; or
 * it was given to us, if PATH is NULL, and stays open.  It is locked unless
 * others may write it, FORCE_SHARE; then its state is stored, and how it is
 * read chosen.  CACHE: what was read may stay in the page cache.  NULL on
 * error.
 */
struct file *file_new (int fd, const char *path, bool named, bool force_share,
                       bool cache, struct error *error);

void file_free (struct file *file);

/* Choose the best way to read data that is not to stay in the page cache.  To
 * be called after tables were read and before data is.
 */
void file_avoid_cache (struct file *file);

/* Could it be read by direct I/O?  Not every file system has it. */
bool file_supports_direct (const struct file *file);

/* Read LEN bytes at AT, which are those at OFFSET of the image for messages, to
 * BUF.  Offsets and BUF are aligned for direct I/O, and BUF has room for whole
 * pages: so much is read if it is there.  Any thread.  0 or -1.
 */
int file_read (const struct file *file, void *buf, size_t len, uint64_t at,
               uint64_t offset, struct error *error);

/* The same for a piece of a table, at any alignment, which stays in the page
 * cache.  0; an errno value; or -1 if the file ends before.
 */
int file_read_table (const struct file *file, void *buf, size_t len,
                     uint64_t at);

/* It will be read soon: start with that, where there is a page cache. */
static inline void
file_prefetch_table (const struct file *file, size_t len, uint64_t at)
{
  if (!file->direct)
    read_ahead (file->fd, len, at);
}

/* Is there data or a hole at AT, and how long?  If the file is shorter than it
 * was, that is an error.  0 or -1.
 */
int file_extent (const struct file *file, uint64_t at, uint64_t *len,
                 bool *hole, struct error *error);

bool file_is_block_device (const struct file *file);

/* Can it have holes? */
bool file_is_sparse (const struct file *file);

/* Is it in the same state as before, and the one that is at its path, if qemu
 * opens it there?  With FORCE_SHARE it must only not have become shorter.  0 or
 * -1.
 */
int file_check_unchanged (const struct file *file, bool force_share,
                          struct error *error);

#endif /* BLKSUM_FILE_H */
