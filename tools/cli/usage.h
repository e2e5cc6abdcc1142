/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What is printed of the command line: the help, and what is wrong with it.
 */

#ifndef BLKSUM_USAGE_H
#define BLKSUM_USAGE_H

struct option;
struct option_row;

/* What --help prints of these options, on stdout. */
void usage_print (const struct option_row *rows);

/* Say what is wrong, in one line, and exit with status 2. */
void usage_error (const char *fmt, ...)
  __attribute__ ((noreturn, format (printf, 1, 2)));

/* The same after getopt_long returned '?'.  ARG is the argument before optind,
 * and OPTIONS are those that getopt_long was given.
 */
void usage_unknown_option (const struct option *options, const char *arg)
  __attribute__ ((noreturn));

#endif /* BLKSUM_USAGE_H */
