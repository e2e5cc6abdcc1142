/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: find the ranges in which two images differ.
 */

#ifndef BLKSUM_COMPARE_H
#define BLKSUM_COMPARE_H

struct compare_request;
struct difference;
struct error;

/* Compare two images.  Returns 0, or -1 with the reason, which is about
 * *OPERAND unless the function of the request failed.
 */
int job_compare (const struct compare_request *request,
                 struct difference *difference, const char **operand,
                 struct error *error);

#endif /* BLKSUM_COMPARE_H */
