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

/* Hash what the COUNT OPERANDS name, each as job_hash does with REQUEST, whose
 * operand is not used; TOGETHER: if small, several at once.  RESULT is called
 * for each of them, in order, by this thread.  Returns when there are no other
 * threads any more.
 */
void job_hash_many (const struct hash_request *request, bool together,
                    char **operands, size_t count, hash_many_result *result,
                    void *opaque);

#endif /* BLKSUM_JOB_HASH_MANY_H */
