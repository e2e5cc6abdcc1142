/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A file that is written completely before it appears under its name, where it
 * atomically replaces the previous file.  If it is not completed, nothing is
 * left of it.
 */

#ifndef BLKSUM_NEW_FILE_H
#define BLKSUM_NEW_FILE_H

#include <stdbool.h>

struct error;

struct new_file {
  int fd;                       /* open for writing */
  char *path;                   /* the final name */
  char *temporary;              /* the name until it is published */
  bool named;                   /* the temporary name exists */
};

/* The path that remains when all symbolic links in PATH are followed.  The file
 * need not exist.  Returns NULL with errno set.
 */
char *new_file_resolve (const char *path);

/* Create the file, which only its owner can read and write.  If PATH is a
 * symbolic link, the link is replaced, not its target.  Returns 0, or -1 with
 * the reason; then there is nothing to close.
 */
int new_file_open (struct new_file *file, const char *path,
                   struct error *error);

/* The file is complete: write it to the disk, and give it its name.  Returns 0
 * or -1.
 */
int new_file_publish (struct new_file *file, struct error *error);

/* Write the directory of PATH to the disk, with the files that were created,
 * renamed or removed in it.  If that is not possible, a crash can undo these.
 */
void new_file_sync_directory (const char *path);

/* Close the file, and remove it, unless it was published. */
void new_file_close (struct new_file *file);

#endif /* BLKSUM_NEW_FILE_H */
