/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Part I of N of an image, counted from 0: --part.  A part is a range of
 * consecutive blocks.
 */

#ifndef BLKSUM_PART_H
#define BLKSUM_PART_H

#include <stdbool.h>
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

/* The bytes that are read for a part, from START to END. */
struct part_range {
  uint64_t start, end;
};

/* Returns the bytes of COUNT blocks from FIRST on, extended to multiples of 64
 * KiB, because an NBD server or direct I/O may require that alignment.
 */
struct part_range part_read_range (uint64_t first, uint64_t count,
                                   uint64_t size, uint32_t block_size);

/* The function wanted of a struct scan_request (see read/scan.h) for a struct
 * part_range.
 */
bool part_range_has (void *range, uint64_t offset, uint64_t *len);

#define PART_TEXT_SIZE 80       /* "part 7/30: 34 of 1024 GiB" */

/* Describe a part of BYTES of an image of SIZE bytes, in the largest unit up to
 * GiB in which both are integers.
 */
void part_describe (const struct part *part, uint64_t bytes, uint64_t size,
                    char text[PART_TEXT_SIZE]);

/* Returns the path of the manifest of the part in DIR.  The caller frees it.
 * Returns NULL if there is no memory.
 */
char *part_path (const struct part *part, const char *dir);

#endif /* BLKSUM_PART_H */
