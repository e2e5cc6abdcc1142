/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Check the lines of a result file: did this filter write them?
 */

#ifndef NBDKIT_BLKHASH_RESULT_LINES_H
#define NBDKIT_BLKHASH_RESULT_LINES_H

#include <stdbool.h>

struct blkhash_opts;

/* The form of the lines that this filter writes.  It is set before the
 * functions below are called.
 */
struct result_form {
  const char *header;           /* the first line, with its newline */
  const struct blkhash_opts *hash; /* hash parameters of the sums; NULL:
                                 * any, but each line has a tag */
  const char *name;             /* name of the default export, if not "-" */
  bool differs;                 /* there can be lines "# differs NAME: N
                                 * bytes" */
};

extern struct result_form result_form;

/* Returns 1 if an earlier run of this filter may have written the file FD, 0 if
 * not, or -1 with errno if FD could not be examined.  The offset of FD must be
 * 0; reading changes it.
 */
int result_lines_are_ours (int fd);

#endif /* NBDKIT_BLKHASH_RESULT_LINES_H */
