/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The result file has a line for each export.  Each change replaces the whole
 * file (see output-file.h).
 *
 * Clients choose the names of exports, and so also the number and the length of
 * the lines.  So the file is limited, and with it the time that a change takes.
 * Beyond the limit there is no sum at all, only a line with which blksum
 * --check fails: a part of the lines could be taken for all of them.
 *
 * An existing file must not be emptied unless this filter wrote it.  A line
 * with a sum does not prove that, because blksum writes the same lines, and its
 * lists of sums are worth keeping.  So a file is recognized as ours if it
 * consists of one of:
 *
 * - the header, and any number of lines with sums, tagged or of
 *   result_form.hash, or with "# unknown NAME: WHY" or, if result_form.differs
 *   is set, "# differs NAME: N bytes";
 * - one line with a sum of the default export, named "-" or result_form.name;
 *   a tag in this line must be that of result_form.hash;
 * - one line of an old filter, which wrote "# incomplete" and "# bad" instead.
 *   Only our filters wrote such lines, and no header before a single line.
 *
 * If result_form.hash is NULL, a tag of any hash is accepted, but required.
 *
 * Not thread-safe: report.c and publish.c let only one thread at a time write.
 */

#ifndef NBDKIT_BLKHASH_RESULT_FILE_H
#define NBDKIT_BLKHASH_RESULT_FILE_H

#include <stdbool.h>

#include "common/output-file.h"

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

/* Exported for unit tests: examine the file FD, for output_file_open.  The
 * offset of FD must be 0; reading changes it.  With FILE_UNEXAMINED errno is
 * set; WHY is not used.
 */
enum file_origin result_file_examine (int fd, char *why);

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
 * no lines.  If LINES is NULL, because there was no memory, the file is
 * emptied.  For errors, see output_file_write.
 */
void result_file_write (const char *lines);

#endif /* NBDKIT_BLKHASH_RESULT_FILE_H */
