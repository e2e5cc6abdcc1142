/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The jobs.  Each is in the file with its name: job_hash is in hash.c.
 * Requests are in util/request.h, results in util/result.h.
 *
 * A job returns 0, or -1 with the reason in ERROR, unless its comment says
 * otherwise.  A job that has a parameter OPERAND sets *OPERAND to the operand
 * that the reason is about.
 */

#ifndef BLKSUM_JOB_H
#define BLKSUM_JOB_H

#include <stdbool.h>
#include <stddef.h>

struct check_request;
struct check_result;
struct compare_request;
struct difference;
struct error;
struct expect_request;
struct expect_result;
struct hash_request;
struct merge_request;
struct parts_request;
struct source;
struct sum;
struct update_request;

/* Hash the operand. */
int job_hash (const struct hash_request *request, struct sum *sum,
              struct error *error);

/* The same for SOURCE, which is open, and stays open.  The time in SUM is not
 * set.  After an error SOURCE can only be closed.
 */
int job_hash_source (const struct hash_request *request, struct source *source,
                     struct sum *sum, struct error *error);

/* Check all images in a list.  Fails if the list could not be read to its end.
 * In any case RESULT counts the lines that were read.
 */
int job_check (const struct check_request *request,
               struct check_result *result, struct error *error);

/* Compare the image with the expected checksum.  The reason of a failure is
 * about the expected checksum if *OPERAND is NULL.
 */
int job_expect (const struct expect_request *request,
                struct expect_result *result, const char **operand,
                struct error *error);

/* Find the ranges in which two images differ.  The reason of a failure is about
 * *OPERAND, unless the callback request->report returned an error.
 */
int job_compare (const struct compare_request *request,
                 struct difference *difference, const char **operand,
                 struct error *error);

/* Hash the parts of the operand that are missing in the directory, audit the
 * others, merge all parts, and set SUM.  Of a single part SUM is not set.
 * Returns 0; 1 with ERROR set if an audited block differs, now or in an earlier
 * run; or -1 with the reason.
 */
int job_parts (const struct parts_request *request, struct sum *sum,
               const char **operand, struct error *error);

/* Merge the manifests of the parts into the manifest of the image, if there is
 * one in the request, and set SUM.  Returns 0; 1 with ERROR set if an audit of
 * the parts has failed; or -1 with the reason.
 */
int job_merge (const struct merge_request *request, struct sum *sum,
               const char **operand, struct error *error);

/* Hash the changed ranges of the operand.  A sample of the blocks outside of
 * these ranges is audited.  Returns 0; 1 with ERROR set if audited blocks have
 * changed, whose ranges were reported as warnings; or -1 with the reason in
 * ERROR.
 */
int job_update (const struct update_request *request, struct sum *sum,
                struct error *error);

#endif /* BLKSUM_JOB_H */
