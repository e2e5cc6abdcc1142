/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files of an image.  Each is opened only once.  It is locked before the
 * first read, unless it is inherited or FORCE_SHARE is set (see file_new).
 */

#ifndef BLKSUM_FILES_H
#define BLKSUM_FILES_H

#include <stdbool.h>

struct error;
struct file;

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

#endif /* BLKSUM_FILES_H */
