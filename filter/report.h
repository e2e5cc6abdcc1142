/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The report: a line for each export of which there is something to say, in the
 * result file, or, without blkhash-file, on stderr.
 *
 * What is said is kept in memory first, and written by those who said it, when
 * they hold no lock any more; several can be written at once.
 *
 * It knows nothing of how a result comes about.  Thread-safe.
 */

#ifndef NBDKIT_BLKHASH_REPORT_H
#define NBDKIT_BLKHASH_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "result-file.h"

#define REPORT_MD_SIZE 64       /* bytes of the longest sum */

/* What is said of one export.  Zero-initialised it says nothing. */
struct report_line {
  struct report_line *next;     /* in the order of the first line of each */
  char *text;                   /* with its newline, or NULL */
  bool is_sum;
  unsigned char md[REPORT_MD_SIZE]; /* the sum, padded with zeros */
  bool listed;
  bool changed;                 /* it is not written yet, and is in a list: */
  struct report_line *next_changed;
  struct result_place place;    /* for the thread that writes */
};

/* See that it can be written, and that nothing is lost: empty the files.  0, or
 * -1 with an error told to nbdkit.
 */
int report_start (void);

/* See it again: nbdkit may be another user now. */
int report_check (void);

void report_stop (void);

/* There is a sum of the export NAME, MD of LEN bytes.  HAS_MANIFEST: the
 * caller has its leaves in the new file of manifest_fold, until report_write
 * returned.
 */
void report_sum (struct report_line *line, const char *name,
                 const unsigned char *md, size_t len, bool has_manifest);

/* There is none, and WHY. */
void report_incomplete (struct report_line *line, const char *name,
                        const char *why);

/* What was said is not true any more. */
void report_withdraw (struct report_line *line);

/* Is nothing said of any export? */
bool report_is_empty (void);

/* Write what was said.  When this returns, all that anybody said before is in
 * the files.
 */
void report_write (void);

/* When this returns, all sums that were withdrawn before are gone from the
 * files, also after a crash.  Costs nothing when there are none.
 */
void report_await_withdrawals (void);

#endif /* NBDKIT_BLKHASH_REPORT_H */
