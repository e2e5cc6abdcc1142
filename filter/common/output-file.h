/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * An output file.  Each new version atomically replaces the previous one.
 *
 * A new version is written to a new file in the same directory,
 * PATH.blkhash-new, which replaces the old one, as ../lib/common/replace.c
 * explains.  So a reader sees either the old version or the new one.  After a
 * crash there is one of them, and not a part of one, which the next server
 * would not recognize.
 *
 * Any file that this filter did not write may be valuable, such as the disk
 * itself.  At the start, an existing file that an earlier server wrote is
 * emptied and synced, or kept (see output_file_keep); with any other file the
 * start fails and changes nothing.  Later, users and logrotate can put another
 * file at the path.  So the file that a new version replaces comes out under
 * the name PATH.blkhash-old, where it is examined, and put back if it is not
 * ours.  The new version has this name before, so it never has a part of a
 * version: whatever a crash leaves there is examined like the file itself.
 *
 * The last version stays open, so that its inode number is not used for another
 * file: the file with this number is ours, and need not be examined.
 *
 * If any step of a write fails, the old content must not remain: the file is
 * truncated in place and synced, or removed if that fails too.  If the
 * directory could not be synced, the path could refer to the old inode again
 * after a crash, so the old inode is truncated too.  Only descriptors are
 * truncated, of files that were found to be ours.
 *
 * Not thread-safe: only one thread at a time may use a file.
 */

#ifndef NBDKIT_BLKHASH_OUTPUT_FILE_H
#define NBDKIT_BLKHASH_OUTPUT_FILE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "../lib/common/replace.h"
#include "common/lock-file.h"

#define OUTPUT_FILE_MAX_WHY 160 /* bytes, with the NUL */

/* Did an earlier server write a file? */
enum file_origin {
  FILE_OURS,                    /* it may have */
  FILE_FOREIGN,                 /* it did not */
  FILE_UNEXAMINED               /* this is unknown: the file could not be
                                 * examined */
};

struct output_file {
  const char *param;            /* name of the parameter, for messages */
  /* Examine FD.  With FILE_UNEXAMINED the reason is in errno, or as text in
   * WHY, which has OUTPUT_FILE_MAX_WHY bytes and is empty before the call.
   */
  enum file_origin (*examine) (int fd, char *why);
  const char *what;             /* what is FILE_OURS, such as "a manifest", for
                                 * messages */
  mode_t mode;                  /* of each new file; see output_file_open */
  char *path;                   /* of the file */
  char *new_path;               /* where its replacement is written */
  char *old_path;               /* where the file is examined when it is
                                 * replaced */
  int directory;                /* descriptor of their directory, if PATH is
                                 * set */
  int current;                  /* descriptor of the last version: the file that
                                 * was found at the start, until this server has
                                 * replaced it */
  struct stat st;               /* identifies it */
  bool kept;                    /* output_file_keep was called, so
                                 * output_file_check checks write access */
  bool made;                    /* output_file_open created the file, and not
                                 * through a symbolic link; false after the file
                                 * is emptied or kept */
  struct lock_file lock;
};

/* At start-up, each of these functions is called for all files before the next
 * one is called, so that no file is changed unless all files pass.  All but
 * keep return 0, or -1 after nbdkit_error.  If the file was not opened, check
 * and empty do nothing.
 *
 * open: sets PATH, creates the file if it does not exist, locks it, and checks
 * that an earlier server may have written it.  The caller sets only the members
 * before PATH.  If MODE is 0, the file keeps its mode.  If CREATE is not set, a
 * file that does not exist is not opened.
 * check: checks that the file can be replaced.  Call it again after nbdkit has
 * changed its user.
 * empty: truncates the file, and syncs it.
 * keep: leaves the content as it is.  Called instead of empty.
 */
int output_file_open (struct output_file *file, const char *path, bool create);
int output_file_check (const struct output_file *file);
int output_file_empty (struct output_file *file);
void output_file_keep (struct output_file *file);

/* Unlock the file.  If MADE is set, the start failed, and the file is removed.
 * Does nothing if the file was not opened.
 */
void output_file_stop (struct output_file *file);

/* Replace the content with TEXT.  If TEXT is NULL, because there was no memory
 * for it, the file is emptied.  Once this function has returned, even a crash
 * cannot bring back the old content.  If another file is at the path by now,
 * which no server wrote, that file is not changed.  Errors are reported with
 * nbdkit_error.
 */
void output_file_write (struct output_file *file, const char *text);

/* Returns a new version of the file, for replacement_open.  NAME is the name
 * that it has until output_file_move, in the same directory.
 */
struct replacement output_file_new (const struct output_file *file, char *name);

/* Like output_file_write, but replaces the file with NEW, which was written,
 * and closes NEW.
 */
void output_file_move (struct output_file *file, struct replacement *new);

#endif /* NBDKIT_BLKHASH_OUTPUT_FILE_H */
