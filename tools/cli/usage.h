/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Errors in a command line.
 */

#ifndef BLKSUM_USAGE_H
#define BLKSUM_USAGE_H

struct option;

/* The exit statuses of failures. */
#define EXIT_DIFFERS 1          /* an image does not match */
#define EXIT_TROUBLE 2          /* an error occurred */

/* Print an error in one line, and exit with status 2. */
void usage_error (const char *fmt, ...)
  __attribute__ ((noreturn, format (printf, 1, 2)));

/* Report the error for which getopt_long has returned '?', and exit with status
 * 2.  ARG is argv[optind - 1].  OPTIONS is the array of long options that was
 * passed to getopt_long, with at most USAGE_MAX_OPTIONS elements before its
 * end.
 */
#define USAGE_MAX_OPTIONS 100
void usage_unknown_option (const struct option *options, const char *arg)
  __attribute__ ((noreturn));

#endif /* BLKSUM_USAGE_H */
