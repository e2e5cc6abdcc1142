/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A subset of an image: every N-th GiB, beginning with GiB K, counted from 0.
 */

#ifndef BLKSUM_SUBSET_H
#define BLKSUM_SUBSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One GiB, in bytes: a subset is made of units of this size.  No block crosses
 * a multiple of this size.
 */
#define SUBSET_UNIT ((uint64_t) 1 << 30)

struct subset {
  uint32_t k, n;                /* K < N; if N is 0, the subset is the whole
                                 * image */
};

/* Parse "K/N".  Returns 0, or -1 if TEXT is anything else, or K >= N. */
int subset_parse (struct subset *subset, const char *text);

/* Returns true if the byte at OFFSET is in the subset.  The result is the same
 * for the *LEN bytes from OFFSET on, which can pass the end of the image.
 */
bool subset_has (const struct subset *subset, uint64_t offset, uint64_t *len);

/* Returns the number of bytes that the subset has in an image of SIZE bytes. */
uint64_t subset_bytes (const struct subset *subset, uint64_t size);

/* Write the size of the subset and SIZE to TEXT, which has room for ROOM bytes,
 * as "4 of 100 GiB", in the largest unit up to GiB in which both are integers.
 */
void subset_describe (const struct subset *subset, uint64_t size, char *text,
                      size_t room);

#endif /* BLKSUM_SUBSET_H */
