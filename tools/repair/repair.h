/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job of blkhash repair.  The request is in util/request.h, the result in
 * util/result.h.
 */

#ifndef BLKSUM_REPAIR_H
#define BLKSUM_REPAIR_H

struct error;
struct repair_request;
struct repair_result;

/* Repair the operand.  Returns 0, also if bad blocks remain; or -1 with the
 * reason, which is about *OPERAND.  After an error RESULT counts what was
 * repaired before it.
 */
int job_repair (const struct repair_request *request,
                struct repair_result *result, const char **operand,
                struct error *error);

#endif /* BLKSUM_REPAIR_H */
