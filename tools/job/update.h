/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the manifest and the sum of an image, from its old manifest and the
 * ranges that have changed, --update.
 */

#ifndef BLKSUM_JOB_UPDATE_H
#define BLKSUM_JOB_UPDATE_H

struct error;
struct incremental_request;
struct sum;

/* Hash the operand where it has changed.  0; 1 if a block has changed that is
 * not in the changed ranges, with ERROR set; or -1 with the reason.
 */
int job_update (const struct incremental_request *request, struct sum *sum,
                struct error *error);

#endif /* BLKSUM_JOB_UPDATE_H */
