/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: are images still what a list of checksums says?
 */

#ifndef BLKSUM_JOB_CHECK_H
#define BLKSUM_JOB_CHECK_H

struct check_request;
struct check_result;
struct error;

/* Check all images in a list.  0, or -1 with the reason why it could not be
 * read up to its end; what was found in it counts in any case.
 */
int job_check (const struct check_request *request,
               struct check_result *result, struct error *error);

#endif /* BLKSUM_JOB_CHECK_H */
