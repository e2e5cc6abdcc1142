/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file: a line for each export, that can change.
 *
 * It knows nothing of what is in a line.  One thread at a time may use it.
 */

#ifndef NBDKIT_BLKHASH_RESULT_FILE_H
#define NBDKIT_BLKHASH_RESULT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Where a line is in a file that is changed in place, for result-file.c only.
 * Zero-initialised it is nowhere.
 */
struct result_place {
  off_t start;                  /* of what is before it */
  size_t len;
};

struct result_change {
  struct result_place *place;   /* of the line */
  char *text;                   /* of it from now on, with its newline, or NULL:
                                 * there is none */
};

/* The start, as in output-file.h; start is the last.  0, or -1 with an error told
 * to nbdkit.  Without blkhash-file they do nothing.
 */
int result_file_open (void);
int result_file_lock (void);
int result_file_check (void);
int result_file_start (void);
void result_file_stop (void);

/* Can it be told only what changes, by result_file_change? */
bool result_file_takes_changes (void);

/* Let it say what it says, but for the COUNT CHANGES; replace: say these and
 * nothing else, in this order.  CHANGES is NULL if there was no memory for it:
 * then it will say nothing.  SYNC: when this returns, what it said before does
 * not come back, also not by a crash.  What fails is told to nbdkit.
 *
 * change: false, and nothing was done, if another program has changed the file.
 * Then it takes no changes any more.
 */
bool result_file_change (const struct result_change *changes, size_t count,
                         bool sync);
void result_file_replace (const struct result_change *changes, size_t count,
                          bool sync);

#endif /* NBDKIT_BLKHASH_RESULT_FILE_H */
