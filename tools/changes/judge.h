/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Judge a list of changed ranges by the blocks that differ: which of these
 * blocks did the list miss, and which of its ranges are superfluous, because
 * they touch no such block?  A range touches each block of which it has a byte.
 */

#ifndef BLKSUM_CHANGES_JUDGE_H
#define BLKSUM_CHANGES_JUDGE_H

#include <stddef.h>
#include <stdint.h>

struct changes_file;
struct error;
struct ranges;

struct judge {
  /* Set by the caller. */
  struct ranges *ranges;        /* the list; empty before judge_begin */
  uint32_t block_size;
  /* Called for COUNT blocks from FIRST on that differ, and that no range
   * touches.  Returns 0, or an error, after which it is not called again during
   * this call of judge_blocks.
   */
  int (*missed) (void *opaque, uint64_t first, uint64_t count);
  void *opaque;

  /* NEXT is the index of the first range that can touch the next blocks that
   * differ.  All ranges from the index UNTOUCHED on have touched no block that
   * differs so far.  SUPERFLUOUS is the number of superfluous ranges that were
   * found so far; they were moved to the start of the list.
   */
  size_t next, untouched, superfluous;
};

/* Read the list FILE, of a disk of SIZE bytes, and store the number of its
 * ranges in *NR_RANGES.  It is an error if FILE has more than RANGES_MAX
 * ranges, because gaps between some of them are then added (see util/ranges.h).
 * Returns 0, or -1 with the reason.
 */
int judge_begin (struct judge *judge, const struct changes_file *file,
                 uint64_t size, uint64_t *nr_ranges, struct error *error);

/* Report that COUNT blocks from FIRST on differ.  Must be called in the order
 * of the blocks.  Returns 0, or the error of MISSED.
 */
int judge_blocks (struct judge *judge, uint64_t first, uint64_t count);

/* Called after judge_blocks was called for all blocks that differ.  Leaves only
 * the superfluous ranges in the list.
 */
void judge_end (struct judge *judge);

#endif /* BLKSUM_CHANGES_JUDGE_H */
