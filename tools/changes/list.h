/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A list of the ranges of an image that changed since it was hashed.
 *
 * All other ranges are trusted to be unchanged.  So any irregularity in the
 * list is an error, and then none of it is used.
 */

#ifndef BLKSUM_CHANGES_LIST_H
#define BLKSUM_CHANGES_LIST_H

#include <stdint.h>

struct error;
struct ranges;

/* Read the list in the file PATH; "-" is standard input.  The image has SIZE
 * bytes.  The ranges are added to RANGES, which is sorted.  Returns 0; or -1
 * with the reason, and RANGES is empty.
 */
int changes_read (const char *path, uint64_t size, struct ranges *ranges,
                  struct error *error);

#endif /* BLKSUM_CHANGES_LIST_H */
