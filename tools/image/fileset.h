/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files and block devices that an image is made of, and whether one of them
 * changed since it was looked at.
 */

#ifndef BLKSUM_FILESET_H
#define BLKSUM_FILESET_H

#include <stdbool.h>

#include "util/error.h"

struct fileset_file;

/* { NULL } is empty. */
struct fileset {
  struct fileset_file *first;
};

/* Add the file that FD, opened at PATH, is, before anything is read from it.
 * The locks taken through FD stay until the set is destroyed.  0 or -1.
 */
int fileset_add (struct fileset *files, const char *path, int fd,
                 struct error *error);

/* Is FD one of the files, in the state that it was in? */
bool fileset_has (const struct fileset *files, int fd);

/* Is at each path still the same file, in the same state?  If others may write
 * them, FORCE_SHARE, none must have become shorter.  0 or -1.
 */
int fileset_check_unchanged (const struct fileset *files, bool force_share,
                             struct error *error);

void fileset_destroy (struct fileset *files);

#endif /* BLKSUM_FILESET_H */
