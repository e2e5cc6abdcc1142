/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A file that appears under its name when it is complete, in the place of the
 * one that was there, and of which nothing is seen if it is not.
 */

#ifndef BLKSUM_NEW_FILE_H
#define BLKSUM_NEW_FILE_H

#include <stdbool.h>

struct error;

struct new_file {
  int fd;                       /* what it is written to */
  char *path;                   /* what it will be */
  char *temporary;              /* its name until then */
  bool named;                   /* it has that name already */
};

/* The path that PATH is when all symbolic links are followed, also to a file
 * that is not there yet.  NULL with errno set.
 */
char *new_file_resolve (const char *path);

/* Only the owner may read and write it.  If PATH is a symbolic link, that is
 * replaced, and not what it points to.  0, or -1 with the reason: then there is
 * nothing to be closed.
 */
int new_file_open (struct new_file *file, const char *path,
                   struct error *error);

/* It is complete: on the disk, and then under its name. */
int new_file_publish (struct new_file *file, struct error *error);

/* What was made, renamed or removed in the directory of PATH is so on the disk
 * too.  Where that cannot be had, a crash can undo it.
 */
void new_file_sync_directory (const char *path);

/* It is gone, unless it was published. */
void new_file_close (struct new_file *file);

#endif /* BLKSUM_NEW_FILE_H */
