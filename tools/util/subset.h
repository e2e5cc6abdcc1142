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

/* "K/N".  0, or -1 if it is something else. */
int subset_parse (struct subset *subset, const char *text);

/* Is the byte at OFFSET in it?  Stores in *LEN how far this is the same for all
 * that follow, at least: bytes, also behind the end of the image.
 */
bool subset_has (const struct subset *subset, uint64_t offset, uint64_t *len);

/* How many bytes of an image of SIZE bytes are in it. */
uint64_t subset_bytes (const struct subset *subset, uint64_t size);

/* Write how much that is of it to TEXT, as "4 of 100 GiB", with the largest
 * unit in which both are whole numbers.
 */
void subset_describe (const struct subset *subset, uint64_t size, char *text,
                      size_t room);

#endif /* BLKSUM_SUBSET_H */
