/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: replace the bad blocks of a disk, --repair-from.
 */

#ifndef BLKSUM_JOB_REPAIR_H
#define BLKSUM_JOB_REPAIR_H

struct error;
struct repair_request;
struct repair_result;

/* Repair the operand.  0, also if bad blocks remain; or -1 with the reason,
 * which is about *OPERAND, or if that is NULL about the command line.  RESULT
 * is then what was repaired before.
 */
int job_repair (const struct repair_request *request,
                struct repair_result *result, const char **operand,
                struct error *error);

#endif /* BLKSUM_JOB_REPAIR_H */
