/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A manifest as an operand, manifest:PATH: its path, its hash parameters, and
 * the job that computes the sum of an image from it.
 */

#ifndef BLKSUM_MANIFEST_OPERAND_H
#define BLKSUM_MANIFEST_OPERAND_H

#include <stdbool.h>

struct blkhash_opts;
struct error;
struct hash_request;
struct sum;

/* Returns the path in OPERAND if it is manifest:PATH, or NULL.  The path is a
 * part of OPERAND.
 */
const char *job_manifest_path (const char *operand);

/* Returns the path of a manifest that is given as FILE or manifest:FILE. */
const char *job_manifest_file (const char *operand);

/* Returns true if OPERAND, an image or a manifest, is standard input. */
bool job_manifest_is_stdin (const char *operand);

/* Open the manifest at PATH; "-" is standard input.  Returns a file descriptor,
 * which the caller closes, or -1 with errno.
 */
int job_manifest_open (const char *path);

/* Returns the parameters OPTS of a manifest, in which those that REQUEST fixes
 * are replaced by those of REQUEST; or NULL with errno set.  The caller frees
 * them.
 */
struct blkhash_opts *
job_manifest_fixed_params (const struct hash_request *request,
                           const struct blkhash_opts *opts);

/* Check that OPTS, the parameters of a manifest, are the same as those that
 * REQUEST fixes.  Returns 0, or -1 with the reason.
 */
int job_manifest_check_params (const struct hash_request *request,
                               const struct blkhash_opts *opts,
                               struct error *error);

/* Set SUM from the manifest at PATH; "-" is standard input.  The sum is
 * computed from the leaves and must match that of the manifest.  Returns 0, or
 * -1 with the reason.
 */
int job_manifest (const struct hash_request *request, const char *path,
                  struct sum *sum, struct error *error);

/* The same for the manifest at the offset of FD, to which FD returns, so that
 * it can be read again.  A pipe is refused.
 */
int job_manifest_verify (const struct hash_request *request, int fd,
                         struct sum *sum, struct error *error);

#endif /* BLKSUM_MANIFEST_OPERAND_H */
