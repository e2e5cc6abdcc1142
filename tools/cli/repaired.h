/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print what a repair did, as a line or as JSON.
 */

#ifndef BLKSUM_REPAIRED_H
#define BLKSUM_REPAIRED_H

#include <stdbool.h>

struct options;
struct repair_range;
struct repair_result;

struct repaired_output {
  const struct options *options;
  bool begun;                   /* the JSON */
  int error;                    /* errno value of a failed write, or 0 */
};

/* Print RANGE: the function of a struct repair_request, with a struct
 * repaired_output.  0, or an errno value.
 */
int repaired_range (void *output, const struct repair_range *range);

/* Print the result.  0, or an errno value. */
int repaired_end (struct repaired_output *output,
                  const struct repair_result *result);

/* True if all blocks are good now. */
bool repaired_all (const struct repair_result *result);

#endif /* BLKSUM_REPAIRED_H */
