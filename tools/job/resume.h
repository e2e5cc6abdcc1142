/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: hash an image, and continue after an interruption, --resume.
 */

#ifndef BLKSUM_JOB_RESUME_H
#define BLKSUM_JOB_RESUME_H

struct error;
struct incremental_request;
struct sum;

/* Hash the operand, and continue where an earlier run was interrupted.  Returns
 * 0; 1 with ERROR set if an audited block differs from the earlier run; or -1
 * with the reason.
 */
int job_resume (const struct incremental_request *request, struct sum *sum,
                struct error *error);

/* Remove the state file of MANIFEST, after the sum was printed.  As long as it
 * exists, and the image is not modified, the next run returns the same sum
 * without reading the image.
 */
void job_resume_end (const char *manifest);

#endif /* BLKSUM_JOB_RESUME_H */
