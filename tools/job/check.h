/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: are images still what lists of checksums say?
 */

#ifndef BLKSUM_JOB_CHECK_H
#define BLKSUM_JOB_CHECK_H

struct options;

/* Check all images in the lists that are the operands, and print what comes of
 * it.  Returns the exit status.
 */
int job_check (const struct options *options);

#endif /* BLKSUM_JOB_CHECK_H */
