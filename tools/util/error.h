/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The reason why a source failed, as text for the user: one line, or the lines
 * that another program said.
 *
 * The functions that can fail for a reason worth telling take a struct error
 * and return -1 after they set it.  The first error wins: setting a second
 * one changes nothing.  Not thread-safe; callers that share one lock it.
 */

#ifndef BLKSUM_ERROR_H
#define BLKSUM_ERROR_H

#include <stdbool.h>

struct error {
  char text[6144];              /* empty: no error; a path may be in it; with
                                 * '\n' between lines */
};

static inline bool
error_is_set (const struct error *error)
{
  return error->text[0] != '\0';
}

/* Set the text to one line: newlines are folded to "; ".  Always returns -1. */
int error_set (struct error *error, const char *fmt, ...)
  __attribute__ ((format (printf, 2, 3)));

/* The same with ": " and the text of ERRNUM, an errno value, behind it; of
 * EMFILE with the limit.
 */
int error_errno (struct error *error, int errnum, const char *fmt, ...)
  __attribute__ ((format (printf, 3, 4)));

/* The same as error_set, with NAME in front, unless it is NULL: of a file that
 * is not the operand, which whoever prints the error names.
 */
int error_about (struct error *error, const char *name, const char *fmt, ...)
  __attribute__ ((format (printf, 3, 4)));

/* Set the text to the lines of TEXT, which ends each with a newline.  There are
 * ERROR_LINES at most, and one that says that there were more.
 */
#define ERROR_LINES 10
int error_set_lines (struct error *error, const char *text);

#endif /* BLKSUM_ERROR_H */
