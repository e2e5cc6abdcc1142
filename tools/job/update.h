/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: hash an image with the help of its old manifest and the ranges that
 * have changed since, --update.
 */

#ifndef BLKSUM_JOB_UPDATE_H
#define BLKSUM_JOB_UPDATE_H

struct error;
struct incremental_request;
struct sum;

/* Hash the changed ranges of the operand.  Returns 0; 1 with ERROR set if an
 * audited block outside of the changed ranges has changed; or -1 with the
 * reason.
 */
int job_update (const struct incremental_request *request, struct sum *sum,
                struct error *error);

#endif /* BLKSUM_JOB_UPDATE_H */
