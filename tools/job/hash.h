/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the sum of one source.
 */

#ifndef BLKSUM_JOB_HASH_H
#define BLKSUM_JOB_HASH_H

struct error;
struct hash_request;
struct source;
struct sum;

/* Hash the operand.  Returns 0, or -1 with the reason. */
int job_hash (const struct hash_request *request, struct sum *sum,
              struct error *error);

/* The same for SOURCE, which is open, and stays open.  The time in SUM is not
 * set.  After an error SOURCE can only be closed.
 */
int job_hash_source (const struct hash_request *request, struct source *source,
                     struct sum *sum, struct error *error);

#endif /* BLKSUM_JOB_HASH_H */
