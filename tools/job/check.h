/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: verify images against a list of checksums.
 */

#ifndef BLKSUM_JOB_CHECK_H
#define BLKSUM_JOB_CHECK_H

struct check_request;
struct check_result;
struct error;

/* Check all images in a list.  Returns 0, or -1 with the reason if the list
 * could not be read to its end.  In both cases RESULT counts the lines that
 * were read.
 */
int job_check (const struct check_request *request,
               struct check_result *result, struct error *error);

#endif /* BLKSUM_JOB_CHECK_H */
