/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What went wrong after the command line was understood, on stderr.
 */

#ifndef BLKSUM_REPORT_H
#define BLKSUM_REPORT_H

struct error;

/* Say what is wrong with NAME, in a line for each of those of ERROR. */
void report (const char *name, const struct error *error);

/* Standard output could not be written, for the reason ERR, an errno value. */
void report_write_failed (int err) __attribute__ ((noreturn));

#endif /* BLKSUM_REPORT_H */
