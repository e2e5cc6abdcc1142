/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A file on the disk that is replaced at once: one state of it after the other.
 *
 * It knows nothing of what is in the file.  One thread at a time may use each.
 */

#ifndef NBDKIT_BLKHASH_OUTPUT_FILE_H
#define NBDKIT_BLKHASH_OUTPUT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "lock-file.h"

struct output_file {
  const char *param;            /* that names it, for messages */
  bool (*is_ours) (int fd);     /* could an earlier server have written FD? */
  const char *what;             /* that is, for messages: "a manifest" */
  mode_t mode;                  /* of each new file */
  char *path, *new_path;        /* of the file, and of one to replace it */
  int directory;                /* in which they are, open; valid with PATH */
  int old;                      /* what was there, open, until it is emptied */
  bool made;                    /* nothing was there */
  struct lock_file lock;
  dev_t dev;                    /* of what output_file_write wrote, ... */
  ino_t ino;                    /* ... and which file it is */
  bool failed;                  /* what it said before may still be there */
};

/* The start, in this order, so that nothing is changed unless all is well with
 * all files.  All return 0, or -1 with an error told to nbdkit, and do nothing of
 * a file that was not opened.
 *
 * open: the file is PATH, which is made if it is not there.  FILE has the
 * members before PATH only; without MODE it keeps the mode that it has.
 * lock: no other server has it, and what is in it is ours.
 * check: it can be replaced.  Also later: nbdkit may be another user then.
 * empty: there is nothing in it, also after a crash.
 */
int output_file_open (struct output_file *file, const char *path);
int output_file_lock (struct output_file *file);
int output_file_check (const struct output_file *file);
int output_file_empty (struct output_file *file);

/* Also of one that was not opened, or whose start failed: then nothing is left of
 * it.
 */
void output_file_stop (struct output_file *file);

/* Remove what a server that was killed left at PATH.  0, or -1 with errno:
 * EEXIST, it is no regular file, so that it is not ours.
 */
int output_file_remove_leftover (const char *path);

/* Let it say TEXT and nothing else.  NULL: there was no memory for it, and it
 * will say nothing.  SYNC: when this returns, what it said before does not come
 * back, also not by a crash.  What fails is told to nbdkit.
 */
void output_file_write (struct output_file *file, const char *text, bool sync);

/* Let FROM be the file, which is in the same directory and was synced; as
 * output_file_write.
 */
void output_file_move (struct output_file *file, const char *from);

/* Open what output_file_write wrote, to change it in place.  -1: it is another
 * file now, or has not SIZE bytes, or failed.
 */
int output_file_reopen (const struct output_file *file, off_t size);

/* Write LEN bytes of TEXT.  0, or -1 with errno. */
int output_file_write_at (int fd, off_t offset, const char *text, size_t len);

/* It was changed; or R is -1, that failed, with errno: it will say nothing. */
void output_file_written (struct output_file *file, int r);

#endif /* NBDKIT_BLKHASH_OUTPUT_FILE_H */
