/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the ranges in which two images differ, each when it is found.
 */

#ifndef BLKSUM_DIFFERENCE_H
#define BLKSUM_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

struct difference;
struct options;

struct difference_output {
  const struct options *options;
  bool sizes_printed;
  int error;                    /* errno value of a failed write to stdout */
};

/* Print on stdout that LENGTH bytes at START differ.  Returns 0, or an errno
 * value.  This is the report function of a struct compare_request; OUTPUT is a
 * struct difference_output.
 */
int difference_range (void *output, const struct difference *difference,
                      uint64_t start, uint64_t length);

/* Print the result for the whole images.  Returns 0, or an errno value. */
int difference_end (struct difference_output *output,
                    const struct difference *difference);

#endif /* BLKSUM_DIFFERENCE_H */
