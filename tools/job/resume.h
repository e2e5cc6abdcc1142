/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the manifest and the sum of an image, in several runs if it is
 * interrupted, --resume.
 */

#ifndef BLKSUM_JOB_RESUME_H
#define BLKSUM_JOB_RESUME_H

struct error;
struct incremental_request;
struct sum;

/* Hash the operand, and continue where an earlier run was interrupted.  0; 1 if
 * a block differs from the earlier run, with ERROR set; or -1 with the reason.
 */
int job_resume (const struct incremental_request *request, struct sum *sum,
                struct error *error);

/* Remove the state beside the MANIFEST, after the sum was printed.  If the
 * state is not removed, the next run reports the same sum without hashing.
 */
void job_resume_end (const char *manifest);

#endif /* BLKSUM_JOB_RESUME_H */
