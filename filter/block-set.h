/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A set of blocks of a disk.
 *
 * Memory grows with the number of runs, not with their length.  When there is
 * no memory for it the set becomes that of all blocks, so it is of use where a
 * block too many does no harm.
 *
 * It knows nothing of exports and requests.  Its user holds a lock.
 */

#ifndef NBDKIT_BLKHASH_BLOCK_SET_H
#define NBDKIT_BLKHASH_BLOCK_SET_H

#include <stdbool.h>
#include <stdint.h>

struct leaf_tree;

/* From START to END, which are bytes; empty if they are equal. */
struct block_range {
  uint64_t start, end;
};

/* Zero-initialised it is empty. */
struct block_set {
  struct leaf_tree *blocks;     /* NULL: none, or all */
  bool all;                     /* no memory to tell which */
  /* Of what was looked up last, so that a request costs no look-up that is in
   * the same run as the one before.
   */
  struct block_range in, out;   /* in the set, and not in it */
};

/* Add all blocks of BLOCK_SIZE bytes that have bytes from OFFSET to END. */
void block_set_add (struct block_set *set, uint32_t block_size,
                    uint64_t offset, uint64_t end);

/* Is the block with the byte at OFFSET in the set?  *RUN_END is where the
 * answer ends to be the same, at most END; both are in bytes.
 */
bool block_set_look_up (struct block_set *set, uint32_t block_size,
                        uint64_t offset, uint64_t end, uint64_t *run_end);

/* The same, without a call if it is known. */
static inline bool
block_set_at (struct block_set *set, uint32_t block_size,
              uint64_t offset, uint64_t end, uint64_t *run_end)
{
  *run_end = end;
  if (offset >= set->out.start && end <= set->out.end)
    return false;
  if (offset >= set->in.start && end <= set->in.end)
    return true;
  return block_set_look_up (set, block_size, offset, end, run_end);
}

/* Remove those of which all bytes are from OFFSET to END. */
void block_set_remove (struct block_set *set, uint32_t block_size,
                       uint64_t offset, uint64_t end);

/* Add all of FROM; move: which is empty then. */
void block_set_add_set (struct block_set *set, uint32_t block_size,
                        struct block_set *from);
void block_set_move (struct block_set *set, uint32_t block_size,
                     struct block_set *from);

/* Set *OFFSET and *END to the first run of blocks in the set that ends behind
 * *OFFSET, but not before *OFFSET.  False: there is none.
 */
bool block_set_next (struct block_set *set, uint32_t block_size,
                     uint64_t *offset, uint64_t *end);

static inline bool
block_set_is_empty (const struct block_set *set)
{
  return !set->blocks && !set->all;
}

/* Empty it. */
void block_set_clear (struct block_set *set);

#endif /* NBDKIT_BLKHASH_BLOCK_SET_H */
