/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Print the ranges in which two images differ as a domain mapfile of GNU
 * ddrescue.
 */

#ifndef BLKSUM_DOMAIN_H
#define BLKSUM_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>

struct ranges;

/* Print the start of the mapfile on stdout.  It is not a valid mapfile until
 * domain_end is called.  IS_PARTIAL: "?" is also what was not compared, so the
 * first line is not that by which --changed recognizes a mapfile.  Returns 0,
 * or an errno value.
 */
int domain_begin (bool is_partial);

/* Print the rest of the mapfile, with RANGES, which this function sorts.  SIZE
 * is the larger size of the two images, in bytes.
 */
void domain_end (struct ranges *ranges, uint64_t size);

#endif /* BLKSUM_DOMAIN_H */
