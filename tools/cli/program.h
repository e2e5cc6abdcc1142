/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What blksum and blkhash have in common as programs: their beginning, and the
 * errors that they print on stderr.
 */

#ifndef BLKSUM_PROGRAM_H
#define BLKSUM_PROGRAM_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct command;
struct error;

/* The exit statuses of failures. */
#define EXIT_DIFFERS 1          /* an image does not match */
#define EXIT_TROUBLE 2          /* an error occurred */

/* "blksum" or "blkhash": the beginning of each message. */
extern const char *program_name;

/* Set program_name to NAME, and prepare the process: its standard descriptors
 * and signals.  Call this first in main.
 */
void program_start (const char *name);

/* Print the version on stdout. */
void program_print_version (const struct command *unused);

/* Print ERROR, which is about NAME, with NAME in front of each line. */
void report (const char *name, const struct error *error);

/* Flush stdout.  If this or what was printed before has failed, exit as
 * report_write_failed with errno, which the caller has set to 0 before it
 * printed: only the call that fails sets errno, and which call that is depends
 * on when the C library flushes.
 */
void program_flush (void);

/* Flush stdout, and write the LEN bytes of TEXT there in one system call,
 * unless the file takes only a part of them.  Fails like program_flush.
 */
void program_write (const char *text, size_t len);

/* Report that standard output could not be written, because of the errno value
 * ERR, and exit with status 2.  EPIPE ends the program by SIGPIPE, without a
 * report.
 */
void report_write_failed (int err) __attribute__ ((noreturn));

/* ---- Errors in the command line: one line, and exit status 2 ---- */

/* The command of blkhash that is run, for errors; or NULL. */
extern const char *usage_command;

/* usage_error reports an error of syntax, and where the syntax is described;
 * usage_invalid that an option has a value that it cannot have.
 */
#define usage_error(...) usage_print (true, __VA_ARGS__)
#define usage_invalid(...) usage_print (false, __VA_ARGS__)
void usage_print (bool is_syntax, const char *fmt, ...)
  __attribute__ ((noreturn, format (printf, 2, 3)));

/* Report an error that is not one of the user, that of errno. */
#define usage_failed(what) usage_invalid ("%s: %s", what, strerror (errno))

#endif /* BLKSUM_PROGRAM_H */
