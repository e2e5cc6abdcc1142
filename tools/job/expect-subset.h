/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: verify a subset of an image against its manifest.
 */

#ifndef BLKSUM_EXPECT_SUBSET_H
#define BLKSUM_EXPECT_SUBSET_H

struct error;
struct expect_request;
struct expect_result;
struct first_bytes;
struct hash_request;
struct subset;
struct sums_line;

/* The same as job_expect, but only the subset of REQUEST is compared.
 * request->expected must name a manifest.
 */
int job_expect_subset (const struct expect_request *request,
                       struct expect_result *result, const char **operand,
                       struct error *error);

/* Compare SUBSET of the image that LINE names, NAME, with the manifest
 * NAME.blkm.  The manifest must have the checksum of LINE, and the hash
 * parameters of HASH.  Returns 1 if the subset matches, or 0 if not, and sets
 * VERDICT, a buffer of VERDICT_SIZE bytes, and FIRST, the first bytes of the
 * image; or returns -1 with the reason.
 */
int expect_subset_line (const struct hash_request *hash,
                        const struct subset *subset,
                        const struct sums_line *line, char *verdict,
                        struct first_bytes *first, struct error *error);

#endif /* BLKSUM_EXPECT_SUBSET_H */
