/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the results of a check, in the format of sha256sum --check.
 */

#ifndef BLKSUM_VERDICT_H
#define BLKSUM_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

struct check_line;
struct check_result;
struct options;

/* Print "NAME: VERDICT" on stdout.  Returns 0, or an errno value if it could
 * not be written.
 */
int verdict_print (const char *name, const char *verdict);

/* Print on stdout that the LEN bytes after the image NAME were not read.  LEN
 * is UINT64_MAX if their number is not known; if it is 0, nothing is printed.
 * Returns 0, or an errno value if the line could not be written.
 */
int verdict_print_trailing (const char *name, uint64_t len);

/* The state of the output for one list. */
struct verdict_output {
  const struct options *options;
  const char *list;             /* its name in messages */
  bool damage_reported;         /* an earlier line of the list is damaged */
};

/* Print the verdict and the error of LINE, if it has them, and the options do
 * not suppress them.  This is the report function of a struct check_request;
 * OUTPUT is a struct verdict_output.  Exits if stdout cannot be written.
 */
void verdict_line (void *output, const struct check_line *line);

/* Print the warnings about the whole list.  READABLE is false if the list could
 * not be read to its end.  Returns the exit status.
 */
int verdict_end (const struct verdict_output *output,
                 const struct check_result *result, bool readable);

#endif /* BLKSUM_VERDICT_H */
