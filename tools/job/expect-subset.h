/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: is a subset of an image what its manifest says?
 */

#ifndef BLKSUM_EXPECT_SUBSET_H
#define BLKSUM_EXPECT_SUBSET_H

#include <stddef.h>

struct difference;
struct error;
struct expect_request;
struct hash_request;
struct subset;
struct sums_line;

/* Compare the image that is the operand with the manifest of --expect, and
 * print what comes of it.  Returns the exit status.
 */
int job_expect_subset (const struct expect_request *request);

/* Compare the image of LINE with the manifest beside it, which must have the
 * checksum of LINE, made as HASH says.  0, and DIFFERENCE is to be
 * destroyed; or -1 with the reason.
 */
int expect_subset_line (const struct hash_request *hash,
                        const struct subset *subset,
                        const struct sums_line *line,
                        struct difference *difference, struct error *error);

/* Write the verdict to TEXT: it says how much was compared. */
void expect_subset_verdict (const struct subset *subset,
                            const struct difference *difference,
                            char *text, size_t room);

#endif /* BLKSUM_EXPECT_SUBSET_H */
