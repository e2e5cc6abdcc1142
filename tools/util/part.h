/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Part I of N of an image, counted from 0: --part.
 */

#ifndef BLKSUM_PART_H
#define BLKSUM_PART_H

#include <stddef.h>
#include <stdint.h>

#define PART_UNIT ((uint64_t) 1 << 30) /* bytes; blocks do not cross it */
#define PART_MAX 999999         /* parts: six digits in a file name */

struct part {
  uint32_t i, n;                /* i < n; n is 0: no part */
};

/* Parse "I/N".  0, or -1 if TEXT is not of this form. */
int part_parse (struct part *part, const char *text);

/* Set *FIRST and *COUNT to the blocks of the part in an image of SIZE bytes;
 * *COUNT can be 0.  The image is divided at multiples of PART_UNIT, or of a
 * block if it has fewer than N of those.  The lengths of the parts differ by
 * one such unit at most.
 */
void part_blocks (const struct part *part, uint64_t size, uint32_t block_size,
                  uint64_t *first, uint64_t *count);

/* The path of the part's manifest in DIR.  The caller frees it; NULL if there
 * is no memory.
 */
char *part_path (const struct part *part, const char *dir);

#endif /* BLKSUM_PART_H */
