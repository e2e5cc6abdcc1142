/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Ranges of bytes of a disk: those that changed.
 *
 * Their memory is bounded: of more than RANGES_MAX the nearest are joined, with
 * what is between them.  So there may be more in them than was added, and never
 * less.
 */

#ifndef BLKSUM_RANGES_H
#define BLKSUM_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGES_MAX ((size_t) 1 << 22) /* of 16 bytes each */

struct ranges_item {
  uint64_t start, len;          /* bytes; LEN is not 0 */
};

/* All zero: none. */
struct ranges {
  struct ranges_item *items;    /* in order and apart, once they are sorted */
  size_t count, room;
};

/* Add LEN bytes at START, in any order.  0; EOVERFLOW if they end beyond 2^64 -
 * 1; or ENOMEM.
 */
int ranges_add (struct ranges *ranges, uint64_t start, uint64_t len);

/* Sort them, and join those that touch or overlap.  For all that follows they
 * are to be sorted.
 */
void ranges_sort (struct ranges *ranges);

/* Make whole blocks of them, and cut them at SIZE, the end of the disk. */
void ranges_align (struct ranges *ranges, uint32_t block_size, uint64_t size);

/* Is the byte at OFFSET in one?  Stores in *LEN how far this is the same for
 * all that follow: bytes, also behind the end of the disk.
 */
bool ranges_has (const struct ranges *ranges, uint64_t offset, uint64_t *len);

/* How many bytes there are in them. */
uint64_t ranges_bytes (const struct ranges *ranges);

/* There are none then. */
void ranges_free (struct ranges *ranges);

#endif /* BLKSUM_RANGES_H */
