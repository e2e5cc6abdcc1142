/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: does an image have the checksum that it should have?
 */

#ifndef BLKSUM_JOB_EXPECT_H
#define BLKSUM_JOB_EXPECT_H

struct error;
struct expect_request;
struct expect_result;

/* Compare the image with what is expected.  0, or -1 with the reason, which is
 * about *OPERAND; NULL: what is expected is none that can be.
 */
int job_expect (const struct expect_request *request,
                struct expect_result *result, const char **operand,
                struct error *error);

#endif /* BLKSUM_JOB_EXPECT_H */
