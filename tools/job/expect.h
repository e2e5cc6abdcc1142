/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: verify an image against an expected checksum.
 */

#ifndef BLKSUM_JOB_EXPECT_H
#define BLKSUM_JOB_EXPECT_H

struct error;
struct expect_request;
struct expect_result;

/* Compare the image with the expected checksum.  Returns 0, or -1 with the
 * reason, which is about *OPERAND, or about the expected checksum if *OPERAND
 * is NULL.
 */
int job_expect (const struct expect_request *request,
                struct expect_result *result, const char **operand,
                struct error *error);

#endif /* BLKSUM_JOB_EXPECT_H */
