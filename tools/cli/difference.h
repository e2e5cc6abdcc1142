/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the ranges in which two images differ: each when it is found; or, in a
 * mapfile, all at the end.
 */

#ifndef BLKSUM_DIFFERENCE_H
#define BLKSUM_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/ranges.h"

struct difference;
struct options;

struct difference_output {
  const struct options *options;
  bool sizes_printed;
  struct ranges ranges;         /* for a mapfile: the reported ranges */
  int error;                    /* the errno value with which difference_range
                                 * failed to write to stdout, or 0 */
};

/* Called before the comparison: print the start of a mapfile.  Prints nothing
 * for any other form of output.  Returns 0, or an errno value.
 */
int difference_begin (const struct difference_output *output);

/* Print on stdout that LENGTH bytes at START differ.  Returns 0, or an errno
 * value.  This is the report function of a struct compare_request; OUTPUT is a
 * struct difference_output.  For a mapfile the range is only stored in
 * output->ranges, which the caller frees.
 */
int difference_range (void *output, const struct difference *difference,
                      uint64_t start, uint64_t length);

/* Print the text after the last range; for a mapfile, print all ranges and the
 * rest of the mapfile.  Returns 0, or an errno value.
 */
int difference_end (struct difference_output *output,
                    const struct difference *difference);

#endif /* BLKSUM_DIFFERENCE_H */
