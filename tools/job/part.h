/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the manifest of a part of an image, --part.
 */

#ifndef BLKSUM_JOB_PART_H
#define BLKSUM_JOB_PART_H

struct error;
struct hash_request;
struct part;

/* Make the manifest of PART of OPERAND, in the directory DIR, unless it is
 * there.  0, or -1 with the reason.
 */
int job_part (const struct hash_request *request, const struct part *part,
              const char *dir, const char *operand, struct error *error);

#endif /* BLKSUM_JOB_PART_H */
