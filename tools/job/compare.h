/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: where do two images differ?
 */

#ifndef BLKSUM_COMPARE_H
#define BLKSUM_COMPARE_H

struct compare_request;
struct difference;
struct error;

/* Compare two images.  DIFFERENCE knows how it is to be printed, all else
 * of it is 0: ranges are printed as they are found, what is to be said at the
 * end is not.  0, and DIFFERENCE is to be destroyed; or -1 with the reason, and
 * *OPERAND is the one that it is about, unless it was not written.
 */
int job_compare (const struct compare_request *request,
                 struct difference *difference, const char **operand,
                 struct error *error);

#endif /* BLKSUM_COMPARE_H */
