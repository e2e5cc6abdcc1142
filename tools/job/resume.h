/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the manifest and the sum of an image, in as many runs as it takes,
 * --resume.
 */

#ifndef BLKSUM_JOB_RESUME_H
#define BLKSUM_JOB_RESUME_H

struct error;
struct incremental_request;
struct sum;

/* Hash the operand, and go on where an earlier run was ended.  0; 1: a block is
 * not what it was then, which ERROR says; or -1 with the reason.
 */
int job_resume (const struct incremental_request *request, struct sum *sum,
                struct error *error);

/* Its sum has arrived: remove what is left beside the MANIFEST.  Without this
 * the next run finds that the image was hashed, and has the same SUM.
 */
void job_resume_end (const char *manifest);

#endif /* BLKSUM_JOB_RESUME_H */
