/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the sums of many sources; several small ones are hashed in parallel.
 */

#ifndef BLKSUM_JOB_HASH_MANY_H
#define BLKSUM_JOB_HASH_MANY_H

#include <stdbool.h>
#include <stddef.h>

struct error;
struct hash_request;
struct sum;

/* Receives the result for an operand.  R is the return value of job_hash: 0
 * with SUM, or -1 with ERROR.  Returns false to stop.
 */
typedef bool hash_many_result (void *opaque, const char *operand, int r,
                               const struct sum *sum,
                               const struct error *error);

/* Hash COUNT OPERANDS, each like job_hash with REQUEST, whose operand is not
 * used.  If TOGETHER is set, several small files are hashed in parallel.
 * RESULT is called for each operand, in order, by the calling thread.  All
 * other threads have ended when this returns.
 */
void job_hash_many (const struct hash_request *request, bool together,
                    char **operands, size_t count, hash_many_result *result,
                    void *opaque);

#endif /* BLKSUM_JOB_HASH_MANY_H */
