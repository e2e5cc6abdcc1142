/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compare the leaves (digests of blocks) of two images, and report the blocks
 * that differ.  Only one run of consecutive leaves of each image is in memory.
 * All functions run in the calling thread.
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
  uint64_t begin, end;          /* if END is not 0, differences outside of the
                                 * blocks from BEGIN to END are ignored */
  bool report_tail;             /* report TAIL as different if it may differ */
  /* Called for each range of blocks that differ, in order; adjacent ranges are
   * merged.  An error ends the comparison, and is returned.  If NULL, the first
   * difference ends the comparison.
   */
  int (*differ) (void *opaque, uint64_t first, uint64_t count);
  void *opaque;

  /* Results.  The caller sets ANY, TAIL_UNKNOWN and COUNT to 0 before the
   * comparison.
   */
  bool any;                     /* blocks differ, not counting TAIL if it is
                                 * unknown whether it differs */
  bool tail_unknown;            /* it is unknown whether TAIL differs */
  int failed;                   /* after an error: 0 if A failed, 1 if B failed,
                                 * or -1 if neither did */
  uint64_t first, count;        /* the range that is not reported yet, if COUNT
                                 * is not 0 */
};

/* Returns the block in which the smaller image ends, if this block is longer in
 * the larger image: the leaves of such blocks cannot be compared.  Returns
 * LEAF_DIFF_NO_BLOCK if there is none.  Sizes are in bytes.
 */
uint64_t leaf_diff_tail (uint64_t size_a, uint64_t size_b,
                         uint32_t block_size);

/* Compare the leaves of A and B, to the end of both, or to the first difference
 * if DIFFER is NULL.  Both must begin at the same block, and have leaves of the
 * same size.  Blocks beyond the end of one image are compared with zeros.  If
 * this returns 0, the caller calls leaf_diff_flush, which reports the last
 * range.  Returns 0; EINVAL if A and B begin at different blocks; or the error
 * of A, of B or of DIFFER.
 */
int leaf_diff (struct leaf_diff *diff, struct leaf_runs *a,
               struct leaf_runs *b);

/* Report the last range, if there is one.  Returns 0 or the error of DIFFER. */
int leaf_diff_flush (struct leaf_diff *diff);

#endif /* BLKHASH_LEAF_DIFF_H */
