/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compare the leaves of two images, and report the blocks that differ.  Only
 * one run of each image is in memory.
 */

#ifndef BLKHASH_LEAF_DIFF_H
#define BLKHASH_LEAF_DIFF_H

#include <stdbool.h>
#include <stdint.h>

struct leaf_runs;

#define LEAF_DIFF_NO_BLOCK UINT64_MAX

struct leaf_diff {
  /* Set by the caller. */
  uint64_t tail;                /* see leaf_diff_tail */
  bool report_tail;             /* report TAIL as different if it may differ */
  /* Called for each range of blocks that differ, in order; adjacent ranges are
   * merged.  An error ends the comparison, and is returned.  If NULL, the first
   * difference ends the comparison.
   */
  int (*differ) (void *opaque, uint64_t first, uint64_t count);
  void *opaque;

  /* Results. */
  bool any;                     /* blocks differ */
  bool tail_unknown;            /* it is unknown whether TAIL differs */
  int failed;                   /* after an error: the iterator that failed, 0
                                 * or 1; otherwise -1 */
  uint64_t first, count;        /* the range that is not reported yet, if COUNT
                                 * is not 0 */
};

/* Returns the block in which the smaller image ends, if this block is longer in
 * the larger image: the leaves of such blocks cannot be compared.  Returns
 * LEAF_DIFF_NO_BLOCK if there is none.  Sizes are in bytes.
 */
uint64_t leaf_diff_tail (uint64_t size_a, uint64_t size_b,
                         uint32_t block_size);

/* Compare the leaves of A and B, which begin at the same block and have the
 * same size, to the end of both, or to the first difference if DIFFER is NULL.
 * Blocks beyond the end of one image are compared with zeros.  Returns 0, or an
 * errno value; EINVAL if they do not have the same blocks.
 */
int leaf_diff (struct leaf_diff *diff, struct leaf_runs *a,
               struct leaf_runs *b);

/* Report the last range.  Returns the result of DIFFER. */
int leaf_diff_flush (struct leaf_diff *diff);

#endif /* BLKHASH_LEAF_DIFF_H */
