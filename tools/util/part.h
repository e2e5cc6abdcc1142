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
#define PART_MAX 999999         /* parts: what six digits can say */

struct part {
  uint32_t i, n;                /* i < n; n is 0: no part */
};

/* "I/N".  0, or -1 if it is something else. */
int part_parse (struct part *part, const char *text);

/* Which blocks of an image of SIZE bytes are in it: COUNT of them, which can be
 * 0, from *FIRST on.  The image is cut at multiples of PART_UNIT, or of a block
 * if there are not enough of those, into parts of nearly the same length.
 */
void part_blocks (const struct part *part, uint64_t size, uint32_t block_size,
                  uint64_t *first, uint64_t *count);

/* The path of its manifest in DIR, which the caller frees; NULL: no memory. */
char *part_path (const struct part *part, const char *dir);

#endif /* BLKSUM_PART_H */
