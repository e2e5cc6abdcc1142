/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the result for an image on stdout: its sum as a line like that of
 * sha256sum, as a tagged line, or as JSON; or the verdict as a line of
 * sha256sum --check.  All functions that end a line exit if stdout cannot be
 * written, or with ENOMEM.
 */

#ifndef BLKSUM_OUTPUT_H
#define BLKSUM_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "job/job.h"

/* The words of --output, in this order. */
enum output_form {
  OUTPUT_HUMAN,
  OUTPUT_JSON,                  /* one JSON object on a line */
  OUTPUT_MAPFILE,               /* a mapfile of GNU ddrescue */
};

struct output_options {
  unsigned form;                /* enum output_form */
  bool tag;                     /* blk-sha256/64k (NAME) = HEX, and not
                                 * HEX  NAME */
  bool no_names;
  bool zero;                    /* NUL ends a line, and no name is escaped */
};

/* Print "NAME: VERDICT". */
void output_line (const char *name, const char *verdict);

/* Print that the LEN bytes after the image NAME were not read.  LEN is
 * UINT64_MAX if their number is not known; if it is 0, nothing is printed.
 */
void output_trailing (const char *name, uint64_t len);

/* Print the outcome of a job: SUM of the image NAME, unless its manifest was
 * written to stdout; or, unless R is JOB_DONE, ERROR, which is about FAILED.
 * Frees the hash parameters in SUM, if it has them; otherwise they are those of
 * REQUEST.  Returns the exit status.
 */
int output_outcome (const struct output_options *options,
                    const struct hash_request *request, const char *name,
                    const struct sum *sum, enum job_status r,
                    const char *failed, const struct error *error);

/* Report ERROR, which is about FAILED, and print it in an object of JSON for
 * NAME, if that is the form.  STATUS is the exit status.
 */
void output_failure (const struct output_options *options, const char *name,
                     const char *failed, const struct error *error,
                     int status);

/* Print an object of JSON for an image that was checked, with what VERIFIED
 * contains, which can be NULL, and PART, if its N is not 0.  ERROR is NULL, or
 * the reason for STATUS, the exit status for this image alone.
 */
void output_verdict (const char *name, const struct expect_result *verified,
                     const struct part *part, const struct error *error,
                     int status);

/* Print a range of a JSON array, and before it a comma, unless it is the FIRST.
 * RESULT is its result, and DETAIL is NULL or more about it.
 */
void output_range (bool first, uint64_t start, uint64_t length,
                   const char *result, const char *detail);

/* For objects of JSON that are printed elsewhere: print the member "result" for
 * the exit STATUS, and the end of the object.
 */
void output_result (int status);

/* Print a line on standard error if FIRST, the first bytes of the operand NAME,
 * show that it contains the image of a disk: it is compressed, an archive, or
 * an image in a format that is only read from a file.  RESULT names the result
 * of the job, such as "sum".
 */
void container_report (const char *name, const struct first_bytes *first,
                       const char *result);

#endif /* BLKSUM_OUTPUT_H */
