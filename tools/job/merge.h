/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the manifest and the sum of an image whose parts have manifests.
 */

#ifndef BLKSUM_JOB_MERGE_H
#define BLKSUM_JOB_MERGE_H

#include <stddef.h>

struct error;
struct hash_request;
struct sum;

/* Write the manifest of the image of whose parts the COUNT manifests at PATHS
 * are, and fill in SUM with its sum.  0, or -1 with the reason, which is about
 * *OPERAND.
 */
int job_merge (const struct hash_request *request, char **paths, size_t count,
               struct sum *sum, const char **operand, struct error *error);

#endif /* BLKSUM_JOB_MERGE_H */
