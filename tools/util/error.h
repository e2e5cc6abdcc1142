/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The reason of an error, as text for the user: one line, or the lines that
 * another program printed.
 *
 * A function that can fail for such a reason takes a struct error, and on
 * failure sets it and returns -1; otherwise 0, or an enum answer if it can also
 * say no.  The first error wins: setting another one has no effect.  Not
 * thread-safe: callers that share a struct error hold a lock.
 */

#ifndef BLKSUM_ERROR_H
#define BLKSUM_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum answer { ANSWER_FAILED = -1, ANSWER_NO, ANSWER_YES };

struct error {
  char text[6144];              /* empty if there is no error; large enough
                                 * for a path; lines are separated by '\n' */
};

static inline bool
error_is_set (const struct error *error)
{
  return error->text[0] != '\0';
}

/* Set the text to one line: newlines between lines are replaced with "; ".
 * Always returns -1.
 */
int error_set (struct error *error, const char *fmt, ...)
  __attribute__ ((format (printf, 2, 3)));

/* The same as error_set, followed by ": " and the text of ERRNUM, an errno
 * value.  For EMFILE the limit of open files is added.
 */
int error_errno (struct error *error, int errnum, const char *fmt, ...)
  __attribute__ ((format (printf, 3, 4)));

/* The same as error_set, but with NAME in front, unless NAME is NULL.  NAME is
 * the name of a file other than the operand, because the name of the operand is
 * printed before each error anyway.
 */
int error_about (struct error *error, const char *name, const char *fmt, ...)
  __attribute__ ((format (printf, 3, 4)));

/* Set the text to that of OTHER, which can be empty. */
void error_copy (struct error *error, const struct error *other);

/* Set the text to a size in bytes that is not that of OTHER, and to the option
 * that helps, if SIZE is the larger one.  Always returns -1.
 */
int error_size (struct error *error, uint64_t size, const char *other,
                uint64_t other_size);

/* Set the text to the lines of TEXT, each of which ends with a newline.  If
 * there are more than ERROR_LINES, or they do not fit, the rest is replaced
 * with a line that says so.  Always returns -1.
 */
#define ERROR_LINES 10
int error_set_lines (struct error *error, const char *text);

/* End the program by SIGPIPE, because a write to stdout failed: the pipe has no
 * reader.  The signal is ignored, because a closed socket must not end the
 * program.  Returns only if SIGPIPE was blocked by a parent process.
 */
void die_of_broken_pipe (void);

/* Returns the length in bytes of the control character at TEXT, which a
 * terminal executes instead of printing it; or 0 if there is none at TEXT.  C1
 * control characters in UTF-8 count as control characters; NUL does not.
 */
static inline size_t
control_length (const char *text)
{
  const unsigned char *s = (const unsigned char *) text;

  if (s[0] == 0xc2)
    return (s[1] & 0xe0) == 0x80 ? 2 : 0;
  return (s[0] > 0 && s[0] < ' ') || s[0] == 127;
}

#endif /* BLKSUM_ERROR_H */
