/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the sum of an image whose manifest there is, manifest:PATH.
 */

#ifndef BLKSUM_JOB_MANIFEST_H
#define BLKSUM_JOB_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

struct blkhash_manifest_run;
struct error;
struct options;
struct sum;

/* The path of the manifest that OPERAND is, in OPERAND, or NULL if it is
 * something else.
 */
const char *job_manifest_path (const char *operand);

/* How many bytes the blocks of RUN have in an image of SIZE bytes: the last one
 * of them can be shorter.
 */
uint64_t job_manifest_run_length (const struct blkhash_manifest_run *run,
                                  uint64_t size, uint32_t block_size);

/* Is OPERAND, or the manifest that it is, on standard input? */
bool job_manifest_is_stdin (const struct options *options,
                            const char *operand);

/* Fill in SUM with what the manifest at PATH, or "-", says of its image; what
 * its sum is made of was computed anew.  0, or -1 with the reason.
 */
int job_manifest (const struct options *options, const char *path,
                  struct sum *sum, struct error *error);

#endif /* BLKSUM_JOB_MANIFEST_H */
