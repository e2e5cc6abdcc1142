/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file: a line for each export, that can change.
 *
 * Not thread-safe: report.c calls it from one thread at a time.
 */

#ifndef NBDKIT_BLKHASH_RESULT_FILE_H
#define NBDKIT_BLKHASH_RESULT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The position of a line in a file that is changed in place, for result-file.c
 * only.  Zero-initialised the line is not in the file.
 */
struct result_place {
  off_t start;                  /* of its prefix */
  size_t len;                   /* without the prefix */
};

struct result_change {
  struct result_place *place;   /* of the line */
  char *text;                   /* the new line, with its newline; NULL: it is
                                 * removed */
};

/* Start-up, as in output-file.h, where start is empty.  0, or -1 after
 * nbdkit_error.  They do nothing without blkhash-file.
 */
int result_file_open (void);
int result_file_lock (void);
int result_file_check (void);
int result_file_start (void);
void result_file_stop (void);

/* Can it be changed in place, by result_file_change? */
bool result_file_takes_changes (void);

/* Make the COUNT CHANGES in place; replace: write a file with these lines only,
 * in this order.  CHANGES is NULL if there was no memory for them: then the
 * file is emptied.  SYNC: when this returns, the old content does not come
 * back, also after a crash.  Errors go to nbdkit_error.
 *
 * change returns false, without a change, if another program has changed the
 * file.  Then it must be replaced.
 */
bool result_file_change (const struct result_change *changes, size_t count,
                         bool sync);
void result_file_replace (const struct result_change *changes, size_t count,
                          bool sync);

#endif /* NBDKIT_BLKHASH_RESULT_FILE_H */
