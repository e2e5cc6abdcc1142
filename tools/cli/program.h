/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * What blksum and blkhash have in common as programs.
 */

#ifndef BLKSUM_PROGRAM_H
#define BLKSUM_PROGRAM_H

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
void program_print_version (void);

#endif /* BLKSUM_PROGRAM_H */
