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

/* Check the lines of a result file: did this filter write them?
 */

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

#define RESULT_MAX (1 << 20)    /* bytes of the lines, without the header */

/* These call the functions open, check, empty and stop of output-file.h for the
 * result file.  All but stop return 0, or -1 after nbdkit_error.  If PATH, the
 * value of the parameter PARAM, is NULL, they do nothing.
 */
int result_file_open (const char *param, const char *path, bool create);
int result_file_check (void);
int result_file_start (void);
void result_file_stop (void);

/* Replace the file by one that has the header and LINES, or if these have more
 * than RESULT_MAX bytes, a line that says so; or by an empty one if there are
 * no lines.  If LINES is NULL, because there was no
 * memory, the file is emptied.  For errors, see output_file_write.
 */
void result_file_write (const char *lines);

#endif /* NBDKIT_BLKHASH_RESULT_FILE_H */
