/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A set of blocks of a disk.
 *
 * The set is a leaf tree of the library that stores only states and no leaves:
 * LEAF_ZERO marks a block in the set, and LEAF_MISSING any other block.
 *
 * Memory grows with the number of runs (ranges of blocks that are in the set),
 * not with their length.  If an allocation fails, the set contains all blocks,
 * so it can only be used where surplus blocks do no harm.
 *
 * Not thread-safe: look-ups change the set, too, because they cache runs.
 */

#ifndef NBDKIT_BLKHASH_BLOCK_SET_H
#define NBDKIT_BLKHASH_BLOCK_SET_H

#include <stdbool.h>
#include <stdint.h>

struct leaf_tree;

/* Bytes from START to END, exclusive; empty if they are equal. */
struct byte_range {
  uint64_t start, end;
};

/* If all members are zero, the set is empty. */
struct block_set {
  struct leaf_tree *blocks;     /* NULL: the set is empty, or ALL is set */
  bool all;                     /* an allocation failed: all blocks are in it */
  /* The runs that the last look-ups found.  A range in one of them needs no
   * look-up in the tree.
   */
  struct byte_range last_in, last_out; /* in the set, and not in it */
};

/* Add all blocks of BLOCK_SIZE bytes that overlap the range from OFFSET to END.
 */
void block_set_add (struct block_set *set, uint32_t block_size,
                    uint64_t offset, uint64_t end);

/* Returns true if the block with the byte at OFFSET is in the set.  Sets
 * *RUN_END to the end of the range to which the same answer applies, at most
 * END.
 */
bool block_set_look_up (struct block_set *set, uint32_t block_size,
                        uint64_t offset, uint64_t end, uint64_t *run_end);

/* Like block_set_look_up, but without a look-up in the tree if a cached run
 * contains the whole range.
 */
static inline bool
block_set_contains (struct block_set *set, uint32_t block_size,
                    uint64_t offset, uint64_t end, uint64_t *run_end)
{
  *run_end = end;
  if (offset >= set->last_out.start && end <= set->last_out.end)
    return false;
  if (offset >= set->last_in.start && end <= set->last_in.end)
    return true;
  return block_set_look_up (set, block_size, offset, end, run_end);
}

/* Remove the blocks that are completely between OFFSET and END.  If ALL is set,
 * they remain in the set.
 */
void block_set_remove (struct block_set *set, uint32_t block_size,
                       uint64_t offset, uint64_t end);

/* Add all blocks of FROM.  block_set_move also empties FROM. */
void block_set_add_set (struct block_set *set, uint32_t block_size,
                        struct block_set *from);
void block_set_move (struct block_set *set, uint32_t block_size,
                     struct block_set *from);

/* Set *OFFSET and *END to the next run of blocks in the set at *OFFSET or after
 * it.  A run that begins before *OFFSET is clipped.  Returns false if there is
 * no such run.
 */
bool block_set_next (struct block_set *set, uint32_t block_size,
                     uint64_t *offset, uint64_t *end);

/* Returns true if no block was added since the set was cleared.  A set whose
 * blocks were all removed by block_set_remove does not count as empty.
 */
static inline bool
block_set_is_empty (const struct block_set *set)
{
  return !set->blocks && !set->all;
}

/* Remove all blocks, and free the memory. */
void block_set_clear (struct block_set *set);

#endif /* NBDKIT_BLKHASH_BLOCK_SET_H */
