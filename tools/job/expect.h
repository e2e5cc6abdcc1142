/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: does an image have the checksum that it should have?
 */

#ifndef BLKSUM_JOB_EXPECT_H
#define BLKSUM_JOB_EXPECT_H

struct options;

/* Compare the image that is the operand with what --expect says, and print what
 * comes of it.  Returns the exit status; errors of the command line exit.
 */
int job_expect (const struct options *options);

#endif /* BLKSUM_JOB_EXPECT_H */
