/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An open regular file or block device.
 *
 * The parsers of image formats, which read the tables (the metadata) of an
 * image, and the readers of its data use the same open file, so that the
 * checked content is the hashed content.
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
  struct file *next;            /* in the list of a struct files */
  char *path;                   /* NULL if the descriptor is inherited */
  bool named;                   /* messages contain PATH; false for the operand
                                 */
  bool by_path;                 /* qemu opens PATH itself */
  int fd;
  struct read_file data;        /* the mode of data reads; data.fd is FD, or
                                 * another descriptor for direct I/O */
  bool direct;                  /* data.fd is for direct I/O */
  struct prefetch *prefetch;    /* prefetched tables, if tables are read with
                                 * direct I/O; or NULL */
  uint64_t size;                /* bytes */
  struct stat st;               /* before the first read, to detect changes */
};

/* Create a struct file for FD, which is seekable.  If FD was opened at PATH,
 * the file owns FD, which is closed on error, too.  If PATH is NULL, FD was
 * inherited, and stays open.  The image is locked; if FD was inherited, only
 * the locks of other programs are checked.  With FORCE_SHARE other programs may
 * write the image: no lock is taken or checked.  If CACHE is set, the data may
 * stay in the page cache.  Returns NULL on error.
 */
struct file *file_new (int fd, const char *path, bool named, bool force_share,
                       bool cache, struct error *error);

void file_free (struct file *file);

/* Select the best mode to read data without leaving it in the page cache.
 * Called after the tables of the image were read, and before its data is read.
 */
void file_avoid_cache (struct file *file);

/* Use only the inherited descriptor of FILE, which has O_DIRECT.  Called before
 * the first read.
 */
void file_set_direct (struct file *file);

/* Does the file support direct I/O?  Not every file system does. */
bool file_supports_direct (const struct file *file);

/* Read LEN bytes at offset AT of the file into BUF.  OFFSET is the offset in
 * the image, for messages.  AT and BUF are aligned if direct I/O is used.  BUF
 * has room for whole pages, because a direct read is extended to the end of the
 * last page.  Returns 0 or -1.  Thread-safe.
 */
int file_read (const struct file *file, void *buf, size_t len, uint64_t at,
               uint64_t offset, struct error *error);

/* Read LEN bytes of a table at offset AT of the file, at any alignment.  They
 * stay in the page cache, unless the file is read with direct I/O.  Returns 0;
 * an errno value; or -1 if the file is too short.  Thread-safe.
 */
int file_read_table (const struct file *file, void *buf, size_t len,
                     uint64_t at);

/* Start to read LEN bytes of a table at AT, which will be used soon.  This is
 * only a hint.
 */
void file_prefetch_table (const struct file *file, size_t len, uint64_t at);

bool file_is_block_device (const struct file *file);

/* Can the file have holes?  Not if it is a block device, or if all of its size
 * is allocated.
 */
bool file_is_sparse (const struct file *file);

/* Is the file on tmpfs, so that its content is only in the page cache? */
bool file_is_tmpfs (const struct file *file);

/* Check that the file was not modified since it was opened, and, if qemu opens
 * it by its path, that the path still names this file.  Writes to a block
 * device cannot be detected.  With FORCE_SHARE the only error is that the file
 * became shorter.  Returns 0 or -1.
 */
int file_check_unchanged (const struct file *file, bool force_share,
                          struct error *error);

#endif /* BLKSUM_FILE_H */
