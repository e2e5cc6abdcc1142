/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the result of a repair, as a line or as JSON.
 */

#ifndef BLKSUM_REPAIRED_H
#define BLKSUM_REPAIRED_H

#include <stdbool.h>

struct options;
struct repair_range;
struct repair_result;

struct repaired_output {
  const struct options *options;
  bool begun;                   /* the start of the JSON was printed */
  int error;                    /* the errno value with which stdout could not
                                 * be written, or 0 */
};

/* Print RANGE in JSON; or, without JSON, report RANGE as an error on stderr if
 * its blocks stay bad.  This is the found function of a struct repair_request,
 * whose opaque pointer is the struct repaired_output OUTPUT.  Returns 0, or an
 * errno value.
 */
int repaired_range (void *output, const struct repair_range *range);

/* Print the final result.  Returns 0, or an errno value. */
int repaired_end (struct repaired_output *output,
                  const struct repair_result *result);

/* Returns true if all blocks are good now. */
bool repaired_all (const struct repair_result *result);

#endif /* BLKSUM_REPAIRED_H */
