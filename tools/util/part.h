/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Part I of N of an image, counted from 0: --part.
 */

#ifndef BLKSUM_PART_H
#define BLKSUM_PART_H

#include <stddef.h>
#include <stdint.h>

#define PART_UNIT ((uint64_t) 1 << 30) /* bytes; no block crosses a multiple
                                        * of it */
#define PART_MAX 999999         /* maximum number of parts: six digits in a
                                 * file name */

struct part {
  uint32_t i, n;                /* I < N; if N is 0, there is no part */
};

/* Parse "I/N".  Returns 0, or -1 if TEXT is anything else, I >= N, or N is more
 * than PART_MAX.
 */
int part_parse (struct part *part, const char *text);

/* Set *FIRST to the first block of the part in an image of SIZE bytes, and
 * *COUNT to the number of its blocks, which can be 0.  The image is divided at
 * multiples of PART_UNIT or, if it is smaller than N * PART_UNIT, of the block
 * size.  The lengths of the parts differ by at most one such unit.
 */
void part_blocks (const struct part *part, uint64_t size, uint32_t block_size,
                  uint64_t *first, uint64_t *count);

/* Returns the offset of BLOCK in bytes, but at most the SIZE of the image: its
 * last block can be short.
 */
uint64_t part_offset (uint64_t block, uint64_t size, uint32_t block_size);

/* Returns the path of the manifest of the part in DIR.  The caller frees it.
 * Returns NULL if there is no memory.
 */
char *part_path (const struct part *part, const char *dir);

#endif /* BLKSUM_PART_H */
