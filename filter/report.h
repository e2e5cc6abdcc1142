/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file: a line for each export of which there is something to say.
 *
 * It knows nothing of how a result comes about.  Thread-safe.
 */

#ifndef NBDKIT_BLKHASH_REPORT_H
#define NBDKIT_BLKHASH_REPORT_H

#include <stddef.h>

/* What is said of one export.  Zero-initialised it says nothing. */
struct report_line {
  struct report_line *next;     /* in the order of the first line of each */
  char *text;                   /* with its newline, or NULL */
  int listed;
};

/* Make the file, empty, and see that it can be replaced.  0, or -1 with an
 * error told to nbdkit.  Without a file, results go to stderr.
 */
int report_start (void);
void report_stop (void);

/* See again that the file can be replaced: nbdkit may be another user now. */
int report_check (void);

/* There is a sum of the export NAME, MD of LEN bytes. */
void report_sum (struct report_line *line, const char *name,
                 const unsigned char *md, size_t len);

/* There is none, and WHY. */
void report_incomplete (struct report_line *line, const char *name,
                        const char *why);

/* Between these two the file stays as it is, for one change at the end. */
void report_hold (void);
void report_release (void);

/* What was said is not true any more.  When this returns it is gone. */
void report_withdraw (struct report_line *line);

#endif /* NBDKIT_BLKHASH_REPORT_H */
