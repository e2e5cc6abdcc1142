/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * A subset of an image: every N-th GiB, from the K-th, counted from 0.
 */

#ifndef BLKSUM_SUBSET_H
#define BLKSUM_SUBSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUBSET_UNIT ((uint64_t) 1 << 30) /* bytes; blocks do not cross it */

struct subset {
  uint32_t k, n;                /* k < n; n is 0: all of the image */
};

/* Parse "K/N".  0, or -1 if TEXT is not of this form. */
int subset_parse (struct subset *subset, const char *text);

/* Is the byte at OFFSET in the subset?  The answer applies to at least *LEN
 * bytes from OFFSET on, which can pass the end of the image.
 */
bool subset_has (const struct subset *subset, uint64_t offset, uint64_t *len);

/* The number of bytes of the subset in an image of SIZE bytes. */
uint64_t subset_bytes (const struct subset *subset, uint64_t size);

/* Write this number and SIZE to TEXT, as "4 of 100 GiB", in the largest unit in
 * which both are integers.
 */
void subset_describe (const struct subset *subset, uint64_t size, char *text,
                      size_t room);

#endif /* BLKSUM_SUBSET_H */
