/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Where two images differ, and how that is printed.
 */

#ifndef BLKSUM_DIFFERENCE_H
#define BLKSUM_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/follows.h"

struct options;

struct difference {
  bool differ;
  uint64_t size[2];             /* of the images, bytes */
  struct difference_range {
    uint64_t start, length;     /* bytes */
  } *ranges;                    /* none if nobody wants to know where */
  size_t nr_ranges;
  struct follows follows[2];    /* with --size */
  bool incomplete;              /* what follows could not be read */
  char *manifest_sum;           /* of the first image, if that is a manifest,
                                 * as --tag --no-names prints it; or NULL */
};

void difference_destroy (struct difference *difference);

/* Print on stdout.  0, or an errno value if it could not be written. */
int difference_print (const struct options *options,
                      const struct difference *difference);

#endif /* BLKSUM_DIFFERENCE_H */
