/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the sum of an image whose manifest there is, manifest:PATH.
 */

#ifndef BLKSUM_JOB_MANIFEST_H
#define BLKSUM_JOB_MANIFEST_H

#include <stdbool.h>

struct error;
struct hash_request;
struct source_options;
struct sum;

/* The path of the manifest that OPERAND is, in OPERAND, or NULL if it is
 * something else.
 */
const char *job_manifest_path (const char *operand);

/* Is OPERAND, or the manifest that it is, on standard input? */
bool job_manifest_is_stdin (const struct source_options *options,
                            const char *operand);

/* Fill in SUM with what the manifest at PATH, or "-", says of its image; what
 * its sum is made of was computed anew.  0, or -1 with the reason.
 */
int job_manifest (const struct hash_request *request, const char *path,
                  struct sum *sum, struct error *error);

#endif /* BLKSUM_JOB_MANIFEST_H */
