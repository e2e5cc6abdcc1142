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

struct output_file {
  const char *param;            /* that names it, for messages */
  mode_t mode;                  /* of each new file */
  char *path, *new_path;        /* of the file, and of one to replace it */
  int directory;                /* in which they are, open; valid with PATH */
  bool failed;                  /* what it said before may still be there */
};

/* Make the file PATH, empty, and see that it can be replaced.  FILE has PARAM
 * and MODE only; without MODE it keeps the mode that it has.  0, or -1 with an
 * error told to nbdkit.
 */
int output_file_start (struct output_file *file, const char *path);

/* Also of one that was not started. */
void output_file_stop (struct output_file *file);

/* See again that it can be replaced: nbdkit may be another user now. */
int output_file_check (const struct output_file *file);

/* Is it the file PATH, which exists? */
bool output_file_is_path (const struct output_file *file, const char *path);

/* Let it say TEXT and nothing else.  NULL: there was no memory for it, and it
 * will say nothing.  SYNC: when this returns, what it said before does not come
 * back, also not by a crash.  What fails is told to nbdkit.
 */
void output_file_write (struct output_file *file, const char *text, bool sync);

/* Let FROM be the file, which is in the same directory and was synced; as
 * output_file_write.
 */
void output_file_move (struct output_file *file, const char *from);

#endif /* NBDKIT_BLKHASH_OUTPUT_FILE_H */
