/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The reason of an error, as text for the user: one line, or the lines that
 * another program printed.
 *
 * A function that can fail for such a reason takes a struct error, and returns
 * -1 after it set it.  The first error wins: setting a second one has no
 * effect.  Not thread-safe: callers that share one hold a lock.
 */

#ifndef BLKSUM_ERROR_H
#define BLKSUM_ERROR_H

#include <stdbool.h>

struct error {
  char text[6144];              /* empty: no error; can contain a path; '\n'
                                 * separates lines */
};

static inline bool
error_is_set (const struct error *error)
{
  return error->text[0] != '\0';
}

/* Set the text to one line: newlines are folded to "; ".  Always returns -1. */
int error_set (struct error *error, const char *fmt, ...)
  __attribute__ ((format (printf, 2, 3)));

/* The same, followed by ": " and the text of ERRNUM, an errno value.  For
 * EMFILE the limit of open files is added.
 */
int error_errno (struct error *error, int errnum, const char *fmt, ...)
  __attribute__ ((format (printf, 3, 4)));

/* The same as error_set, preceded by NAME, unless it is NULL.  NAME is a file
 * other than the operand, whose name is printed before each error anyway.
 */
int error_about (struct error *error, const char *name, const char *fmt, ...)
  __attribute__ ((format (printf, 3, 4)));

/* Set the text to the lines of TEXT, each of which ends with a newline: at most
 * ERROR_LINES, followed by one that says that there are more.
 */
#define ERROR_LINES 10
int error_set_lines (struct error *error, const char *text);

#endif /* BLKSUM_ERROR_H */
