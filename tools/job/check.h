/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: are images still what lists of checksums say?
 */

#ifndef BLKSUM_JOB_CHECK_H
#define BLKSUM_JOB_CHECK_H

struct hash_request;
struct verify_request;

/* Check all images in the COUNT lists, hashed as HASH says where a list does
 * not, and print what comes of it.  Returns the exit status.
 */
int job_check (const struct hash_request *hash,
               const struct verify_request *request, char **lists, int count);

#endif /* BLKSUM_JOB_CHECK_H */
