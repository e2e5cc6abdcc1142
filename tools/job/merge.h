/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: merge the manifests of the parts of an image, and compute its sum.
 */

#ifndef BLKSUM_JOB_MERGE_H
#define BLKSUM_JOB_MERGE_H

struct error;
struct merge_request;
struct sum;

/* Merge the manifests of the parts into the manifest of the image, and set SUM.
 * Returns 0, or -1 with the reason, which is about *OPERAND.
 */
int job_merge (const struct merge_request *request, struct sum *sum,
               const char **operand, struct error *error);

#endif /* BLKSUM_JOB_MERGE_H */
