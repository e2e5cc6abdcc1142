/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The result: the sum of one source, and how it is printed.
 */

#ifndef BLKSUM_OUTPUT_H
#define BLKSUM_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash.h"

struct options;

struct sum {
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  unsigned md_len;
  struct blkhash_opts *hash;    /* how it was made, which the caller frees, or
                                 * NULL: as the options say */
  char format[32];              /* of the source */
  uint64_t size;                /* bytes, and so are these, its parts: */
  uint64_t data;                /* read, and in blocks that are not all zero */
  uint64_t zero;                /* read, and in blocks that are */
  uint64_t hole;                /* known to be zero without reading */
  bool incremental;             /* a manifest said the rest, but for these: */
  uint64_t read;                /* from the image, of whatever content */
  double seconds;
};

/* Print SUM of the source NAME on stdout.  0, or an errno value if it could
 * not be written.
 */
int output_sum (const struct options *options, const char *name,
                const struct sum *sum);

#endif /* BLKSUM_OUTPUT_H */
