/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print errors on stderr.  For errors in the command line see usage.h.
 */

#ifndef BLKSUM_REPORT_H
#define BLKSUM_REPORT_H

struct error;

/* Print ERROR, which is about NAME, with NAME in front of each line. */
void report (const char *name, const struct error *error);

/* Report that standard output could not be written, because of the errno value
 * ERR, and exit with status 2.  EPIPE ends blksum by SIGPIPE, without a report.
 */
void report_write_failed (int err) __attribute__ ((noreturn));

#endif /* BLKSUM_REPORT_H */
