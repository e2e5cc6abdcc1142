/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: does an image have the checksum that it should have?
 */

#ifndef BLKSUM_JOB_EXPECT_H
#define BLKSUM_JOB_EXPECT_H

struct expect_request;

/* Compare the image that is the operand with what is expected, and print what
 * comes of it.  Returns the exit status; errors of the command line exit.
 */
int job_expect (const struct expect_request *request);

#endif /* BLKSUM_JOB_EXPECT_H */
