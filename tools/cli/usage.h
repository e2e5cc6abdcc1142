/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Errors in a command line.  Each is one line, and ends the program with status
 * 2.
 */

#ifndef BLKSUM_USAGE_H
#define BLKSUM_USAGE_H

struct option;

/* The command of blkhash that is run, for errors; or NULL. */
extern const char *usage_command;

/* Report an error of syntax, and where the syntax is described. */
void usage_error (const char *fmt, ...)
  __attribute__ ((noreturn, format (printf, 1, 2)));

/* Report that an option has a value that it cannot have. */
void usage_invalid (const char *fmt, ...)
  __attribute__ ((noreturn, format (printf, 1, 2)));

/* Report an error that is not one of the user, such as that of strerror. */
void usage_failed (const char *what) __attribute__ ((noreturn));

/* Report the error for which getopt_long has returned '?'.  ARG is
 * argv[optind - 1].  OPTIONS is the array of long options that was passed to
 * getopt_long.
 */
void usage_unknown_option (const struct option *options, const char *arg)
  __attribute__ ((noreturn));

#endif /* BLKSUM_USAGE_H */
