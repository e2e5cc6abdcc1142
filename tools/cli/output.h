/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the sum of one source.
 */

#ifndef BLKSUM_OUTPUT_H
#define BLKSUM_OUTPUT_H

struct options;
struct sum;

/* Print SUM of the source NAME on stdout.  Returns 0, or an errno value if it
 * could not be formatted or written.
 */
int output_sum (const struct options *options, const char *name,
                const struct sum *sum);

#endif /* BLKSUM_OUTPUT_H */
