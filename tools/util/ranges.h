/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Sets of ranges of an image, in bytes, such as the ranges that changed.
 *
 * Memory is bounded: if there are more than RANGES_MAX ranges, neighbors with
 * small gaps between them are joined, and the gaps added.  So a set can contain
 * more bytes than were added, but never fewer.
 */

#ifndef BLKSUM_RANGES_H
#define BLKSUM_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGES_MAX ((size_t) 1 << 21) /* maximum number of ranges; each takes
                                       * 16 bytes, and the same again while
                                       * they are sorted */

struct ranges_item {
  uint64_t start, len;          /* bytes; LEN is not 0 */
};

/* A set of ranges.  The empty set is all zero. */
struct ranges {
  struct ranges_item *items;    /* sorted and not adjacent, after ranges_sort */
  size_t count, room;
};

/* Add LEN bytes at START.  Ranges can be added in any order.  Returns 0,
 * EOVERFLOW if the range ends beyond 2^64 - 1, or ENOMEM.
 */
int ranges_add (struct ranges *ranges, uint64_t start, uint64_t len);

/* Sort the ranges, and join those that are adjacent or overlap.  The functions
 * below require sorted ranges.
 */
void ranges_sort (struct ranges *ranges);

/* Extend the ranges to whole blocks, and cut them at SIZE, the end of the
 * image.
 */
void ranges_align (struct ranges *ranges, uint32_t block_size, uint64_t size);

/* Returns true if the byte at OFFSET is in a range.  Stores in *LEN the number
 * of bytes from OFFSET on for which the result is the same; they can extend
 * beyond the end of the image.
 */
bool ranges_has (const struct ranges *ranges, uint64_t offset, uint64_t *len);

/* Returns the number of bytes in the ranges. */
uint64_t ranges_bytes (const struct ranges *ranges);

/* Free the memory, and make the set empty. */
void ranges_free (struct ranges *ranges);

#endif /* BLKSUM_RANGES_H */
