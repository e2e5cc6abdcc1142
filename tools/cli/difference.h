/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where two images differ, and how that is printed: each range when it is
 * found, so that any number of them takes no memory.
 */

#ifndef BLKSUM_DIFFERENCE_H
#define BLKSUM_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/follows.h"

struct options;

struct difference {
  bool differ;
  uint64_t size[2];             /* of the images, bytes; UINT64_MAX of a pipe
                                 * that has not ended */
  uint64_t nr_ranges;           /* that were told */
  uint64_t first;               /* where the first of them starts, bytes */
  struct follows follows[2];    /* with --size */
  bool incomplete;              /* what follows could not be read */
  char *manifest_sum;           /* of the first image, if that is a manifest,
                                 * as --tag --no-names prints it; or NULL */

  /* How it is printed. */
  const struct options *print_as; /* NULL: it is not */
  bool sizes_are_told;
  int write_error;              /* an errno value: why there is no end */
};

void difference_destroy (struct difference *difference);

/* LENGTH bytes at START differ: print that on stdout.  0, or an errno value if
 * it could not be written.
 */
int difference_range (struct difference *difference, uint64_t start,
                      uint64_t length);

/* That was all: print what is to be said of all.  0, or an errno value. */
int difference_end (struct difference *difference);

#endif /* BLKSUM_DIFFERENCE_H */
