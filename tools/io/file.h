/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An open regular file or block device.
 *
 * Checks and hashing read it in the same way, so that what is checked is what
 * is hashed.  The format of the content is not handled here.
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
  char *path;                   /* of the file; NULL: an inherited descriptor */
  bool named;                   /* PATH is printed in messages; not for the
                                 * operand */
  bool by_path;                 /* qemu opens PATH itself */
  int fd;
  struct read_file data;        /* how data is read; data.fd is FD, or another
                                 * for direct I/O */
  bool direct;                  /* data.fd is for direct I/O */
  struct prefetch *prefetch;    /* of tables that are read by that; or NULL */
  uint64_t size;                /* bytes */
  struct stat st;               /* before the first read */
};

/* Create a file from FD, which is seekable.  If FD was opened at PATH, the file
 * owns it, also on error.  If PATH is NULL, FD was inherited, and stays open.
 * Locks the image, unless FORCE_SHARE allows others to write it; then stores
 * its state, and selects how to read it.  CACHE: what was read may stay in the
 * page cache.  Returns NULL on error.
 */
struct file *file_new (int fd, const char *path, bool named, bool force_share,
                       bool cache, struct error *error);

void file_free (struct file *file);

/* Select the best mode to read data without leaving it in the page cache.  To
 * be called after tables were read, and before data is.
 */
void file_avoid_cache (struct file *file);

/* Does the file support direct I/O?  Not every file system does. */
bool file_supports_direct (const struct file *file);

/* Read LEN bytes at AT into BUF; messages name OFFSET, which is the offset in
 * the image.  For direct I/O offsets and BUF are aligned.  BUF has room for
 * whole pages, so up to the end of the last page is read, if the file has it.
 * Any thread.  Returns 0 or -1.
 */
int file_read (const struct file *file, void *buf, size_t len, uint64_t at,
               uint64_t offset, struct error *error);

/* Read a piece of a table, at any alignment.  It stays in the page cache.  0;
 * an errno value; or -1 if the file ends before.
 */
int file_read_table (const struct file *file, void *buf, size_t len,
                     uint64_t at);

/* Start to read a table that is used soon. */
void file_prefetch_table (const struct file *file, size_t len, uint64_t at);

bool file_is_block_device (const struct file *file);

/* Can it have holes? */
bool file_is_sparse (const struct file *file);

/* Is its content in the page cache and nowhere else, except for swap? */
bool file_is_tmpfs (const struct file *file);

/* Is the file in the state in which it was opened, and still at its path, if
 * qemu opens that?  With FORCE_SHARE it is only an error if it became shorter.
 * Returns 0 or -1.
 */
int file_check_unchanged (const struct file *file, bool force_share,
                          struct error *error);

#endif /* BLKSUM_FILE_H */
