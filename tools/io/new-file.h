/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files that blksum writes.  A new file atomically replaces an existing one
 * when it is complete.  If it is never completed, it is removed.  Only a crash,
 * or a signal other than SIGHUP, SIGINT and SIGTERM, can leave it under its
 * temporary name.
 */

#ifndef BLKSUM_NEW_FILE_H
#define BLKSUM_NEW_FILE_H

#include "../lib/common/replace.h"

struct error;

/* Checks that a file may be replaced: FD, open for reading, whose NAME is for
 * messages.  OPAQUE is that of new_file_publish.  Returns 0, or -1 with the
 * reason.
 */
typedef int new_file_check (int fd, const char *name, const void *opaque,
                            struct error *error);

/* Resolve all symbolic links in PATH.  If the file does not exist, only links
 * in the last component are resolved.  Returns the path, which the caller
 * frees, or NULL with errno set.
 */
char *new_file_resolve (const char *path);

/* Create the file, which only its owner can read and write.  PATH must be no
 * symbolic link, which is never replaced.  Returns 0; or -1 with errno, or the
 * reason: then there is nothing to close.  The temporary name begins with
 * PREFIX, or with PATH.
 */
int new_file_create (struct replacement *file, const char *path,
                     const char *prefix);
int new_file_open (struct replacement *file, const char *path,
                   struct error *error);

/* Sync the file, rename it to its final name, and sync the directory, so that a
 * crash does not bring back the old file.  A file that has the name by now is
 * replaced only if CHECK accepts it, and never if CHECK is NULL.  Returns 0, or
 * -1 with the reason.  After an error the file may have its final name or not.
 * new_file_close must be called in both cases.
 */
int new_file_publish (struct replacement *file, new_file_check *check,
                      const void *opaque, struct error *error);

/* Sync the directory of PATH.  It is not an error if the file system cannot
 * sync a directory, or if this user may create files in the directory, but not
 * read it.  Returns 0, or -1 with the reason.
 */
int new_file_sync_directory (const char *path, struct error *error);

/* Close the file.  If it was not published, remove it.  errno is kept. */
void new_file_close (struct replacement *file);

#endif /* BLKSUM_NEW_FILE_H */
