/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the sums of many sources, small ones several at once.
 */

#ifndef BLKSUM_JOB_HASH_MANY_H
#define BLKSUM_JOB_HASH_MANY_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct hash_request;
struct sum;

/* Receives the result for an operand: R is what job_hash returned, with SUM, or
 * -1 with ERROR.  False: no more results are wanted.
 */
typedef bool hash_many_result (void *opaque, const char *operand, int r,
                               const struct sum *sum,
                               const struct error *error);

/* Hash the COUNT OPERANDS, each like job_hash with REQUEST, whose operand is
 * not used.  Small ones are hashed several at a time if TOGETHER is set.
 * RESULT is called for each operand, in order, by this thread.  All other
 * threads have ended when this returns.
 */
void job_hash_many (const struct hash_request *request, bool together,
                    char **operands, size_t count, hash_many_result *result,
                    void *opaque);

#endif /* BLKSUM_JOB_HASH_MANY_H */
