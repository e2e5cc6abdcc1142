/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file, with a line for each export.
 *
 * Not thread-safe.
 */

#ifndef NBDKIT_BLKHASH_RESULT_FILE_H
#define NBDKIT_BLKHASH_RESULT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The position of a line in a file that is changed in place, for result-file.c
 * only.  If all members are zero, the line is not in the file.
 */
struct result_place {
  off_t start;                  /* offset of the line's prefix, RESULT_LIVE or
                                 * RESULT_DEAD (see result-lines.h) */
  size_t len;                   /* length of the line without the prefix */
};

struct result_change {
  struct result_place *place;   /* of the line; set to its new place */
  char *text;                   /* the new line, with its newline; NULL removes
                                 * the line */
};

/* These call the functions open, check, empty and stop of output-file.h for the
 * result file.  All but stop return 0, or -1 after nbdkit_error.  If PATH, the
 * value of the parameter PARAM, is NULL, they do nothing.
 */
int result_file_open (const char *param, const char *path, bool create);
int result_file_check (void);
int result_file_start (void);
void result_file_stop (void);

/* Returns false if the next change must be made by result_file_replace. */
bool result_file_takes_changes (void);

/* result_file_change makes the COUNT CHANGES in place.  result_file_replace
 * writes a file with the lines of CHANGES only, in this order; if CHANGES is
 * NULL, because there was no memory, the file is emptied.  If SYNC is set,
 * not even a crash brings back the old content once the function has returned.
 * Errors are reported with nbdkit_error.
 *
 * result_file_change returns false, without a change, if another program has
 * changed the file, or if the last write failed.  Then the file must be
 * replaced.
 */
bool result_file_change (const struct result_change *changes, size_t count,
                         bool sync);
void result_file_replace (const struct result_change *changes, size_t count,
                          bool sync);

#endif /* NBDKIT_BLKHASH_RESULT_FILE_H */
