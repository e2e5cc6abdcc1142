/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An open regular file or block device, as it was when it was found.
 */

#ifndef BLKSUM_FILE_H
#define BLKSUM_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct error;

struct file {
  int fd;
  const char *path;             /* it was opened at; NULL: not by us */
  uint64_t size;                /* bytes */
  struct stat st;
};

/* Look at FD, which must be seekable, and was opened at PATH, which stays, or
 * by others, if that is NULL.  0, or -1 with the reason.
 */
int file_init (struct file *file, int fd, const char *path,
               struct error *error);

/* Close it, unless others opened it. */
void file_close (struct file *file);

/* Open the same file once more, for reading, with FLAGS.  A descriptor, or -1
 * with errno set.
 */
int file_reopen (const struct file *file, int flags);

bool file_is_block_device (const struct file *file);

/* Is a regular file still what it was?  If others may write it, FORCE_SHARE, it
 * must only not have become shorter.  0, or -1 with the reason.
 */
int file_check_unchanged (const struct file *file, bool force_share,
                          struct error *error);

#endif /* BLKSUM_FILE_H */
