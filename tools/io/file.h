/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files of an image: open regular files or block devices.
 *
 * The parsers of image formats, which read the tables (the metadata) of an
 * image, and the readers of its data use the same open file, so that the
 * checked content is the hashed content.
 *
 * Other hosts can write a block device, so its data in the page cache can be
 * stale.  Therefore a block device is read with direct I/O, unless the user
 * requests the page cache.
 */

#ifndef BLKSUM_FILE_H
#define BLKSUM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "io/file-read.h"

struct error;

/* ---- A file ---- */

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

/* Use only the inherited descriptor of FILE, which has O_DIRECT.  Called before
 * the first read.
 */
void file_set_direct (struct file *file);

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

/* Check that the file was not modified since it was opened, and, if qemu opens
 * it by its path, that the path still names this file.  Writes to a block
 * device cannot be detected.  With FORCE_SHARE the only error is that the file
 * became shorter.  Returns 0 or -1.
 */
int file_check_unchanged (const struct file *file, bool force_share,
                          struct error *error);

/* Take the image locks that qemu takes by default (without share-rw) to write
 * an image, on FD, which is open for reading.  If TAKE is false, only check the
 * locks of other programs.  Returns 0, or -1 with the reason.
 */
int lock_image_for_writing (int fd, bool take, struct error *error);

/* ---- The files of an image ---- */

/* Each file is opened only once.  It is locked before the first read, unless it
 * is inherited or FORCE_SHARE is set (see file_new).
 */
struct files {
  /* CACHE and FORCE_SHARE are set before the first file is added. */
  bool cache;                   /* the data may stay in the page cache */
  bool force_share;             /* other programs may write the files */
  bool remote;                  /* a part of the image is on a server; set by
                                 * the check of the image */

  struct file *first;
  struct prefetch *prefetch;    /* for files that are read with direct I/O; or
                                 * NULL */
};

/* Add the file that the user gave, which is open as FD and seekable.  Messages
 * do not contain its path.  If FD was opened at PATH, FILES owns FD, which is
 * closed on error, too.  If PATH is NULL, FD was inherited, and stays open.
 * Returns NULL on error.
 */
struct file *files_adopt (struct files *files, int fd, const char *path,
                          struct error *error);

/* Open PATH, or return the file if an earlier call opened it.  WHAT names the
 * role of the file in messages, such as "the backing file".  Returns NULL on
 * error.
 */
struct file *files_open (struct files *files, const char *what,
                         const char *path, struct error *error);

/* Select how data is read.  Called once, after all tables were read, and before
 * data is read.
 */
void files_start_reading (struct files *files);

/* Do all files support direct I/O? */
bool files_support_direct (const struct files *files);

/* Check that no file was modified; with force_share, that no file became
 * shorter.  Returns 0 or -1.
 */
int files_check_unchanged (const struct files *files, struct error *error);

void files_close (struct files *files);

/* ---- Data and holes of a file ---- */

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

#endif /* BLKSUM_FILE_H */
