/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A set of parts of blocks: ranges of bytes, each within a block of a disk.
 *
 * Not thread-safe.
 */

#ifndef NBDKIT_BLKHASH_PART_SET_H
#define NBDKIT_BLKHASH_PART_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PARTS_OF_BLOCK 1024     /* maximum number of parts of a block */

/* A part of block INDEX: the bytes from START to END, exclusive, in the block.
 * If END is 0, the slot of the table was never used; if START and END are equal
 * otherwise, its part was removed.
 */
struct part {
  uint64_t index;
  uint32_t start, end;
};

/* If all members are zero, the set is empty. */
struct part_set {
  struct part *table;           /* a hash table with linear probing */
  size_t room, used;            /* slots of the table; ROOM is 0 or a power of
                                 * two */
};

/* Add LEN bytes at START in block INDEX.  Returns false, without a change, if
 * there is no memory, if the set has MAX parts, or the block PARTS_OF_BLOCK.
 */
bool part_set_add (struct part_set *set, size_t max, uint64_t index,
                   uint32_t start, uint32_t len);

/* Call FN with each part that overlaps the range from OFFSET to END, in any
 * order, until FN returns true; then return true.  FN may remove the part.
 */
bool part_set_visit (struct part_set *set, uint32_t block_size,
                     uint64_t offset, uint64_t end,
                     bool (*fn) (void *opaque, struct part *part),
                     void *opaque);

static inline void
part_remove (struct part *part)
{
  part->start = part->end;
}

/* Remove all parts, and free the memory. */
void part_set_clear (struct part_set *set);

#endif /* NBDKIT_BLKHASH_PART_SET_H */
