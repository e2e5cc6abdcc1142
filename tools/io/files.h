/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The files that an image is made of.  Each is opened once, and locked before
 * anything is read from it.
 */

#ifndef BLKSUM_FILES_H
#define BLKSUM_FILES_H

#include <stdbool.h>

struct error;
struct file;

/* With nothing but the options there are no files yet. */
struct files {
  bool cache;                   /* may what was read stay in the page cache? */
  bool force_share;             /* may others write them meanwhile? */
  bool remote;                  /* a part of the image is on a server */
  struct file *first;
};

/* Add the operand: FD, which is seekable, was opened at PATH, and becomes ours
 * in any case; or it was given to us, if PATH is NULL, and stays open.  NULL
 * on error.
 */
struct file *files_adopt (struct files *files, int fd, const char *path,
                          struct error *error);

/* Open what is at PATH, unless it is open already.  WHAT tells the user which
 * part of the image it is.  NULL on error.
 */
struct file *files_open (struct files *files, const char *what,
                         const char *path, struct error *error);

/* To be called once, after all tables were read and before data is. */
void files_start_reading (struct files *files);

/* Could all be read by direct I/O? */
bool files_support_direct (const struct files *files);

/* Is each file still what it was, or as much so as the user wants?  0 or -1. */
int files_check_unchanged (const struct files *files, struct error *error);

void files_close (struct files *files);

#endif /* BLKSUM_FILES_H */
