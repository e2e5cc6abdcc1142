/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The lines of a result file: which of them are ours.
 */

#ifndef NBDKIT_BLKHASH_RESULT_LINES_H
#define NBDKIT_BLKHASH_RESULT_LINES_H

#include <stdbool.h>

/* The first line of a file that its lines do not tell to be ours. */
#define RESULT_HEADER "# nbdkit-blkhash-filter replaces this file\n"

/* What is before a line of a file that is changed in place, and before one that
 * does not count any more, which is a comment then.  They differ in one byte.
 */
#define RESULT_LIVE "#\n"
#define RESULT_DEAD "##"

/* Did this command write FD, from its start, before? */
bool result_lines_are_ours (int fd);

/* Are the LINES so that this is known of them without a header? */
bool result_lines_need_no_header (const char *lines);

#endif /* NBDKIT_BLKHASH_RESULT_LINES_H */
