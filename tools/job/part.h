/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: write the manifest of a part of an image, --part.
 */

#ifndef BLKSUM_JOB_PART_H
#define BLKSUM_JOB_PART_H

struct error;
struct part_request;

/* Write the manifest of a part of the operand.  A complete manifest of the same
 * part that exists is kept.  Returns 0, or -1 with the reason in ERROR.
 */
int job_part (const struct part_request *request, struct error *error);

#endif /* BLKSUM_JOB_PART_H */
