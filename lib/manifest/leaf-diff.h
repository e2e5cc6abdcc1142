/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compare the leaves of two images, and report the blocks that differ.  Only a
 * run of each is in memory.
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
  bool report_tail;             /* if it may differ, it is in a range */
  /* Called for each range of blocks that differ, in order; adjacent ranges are
   * merged.  An error ends the comparison, and is returned.  NULL: the first
   * difference ends it.
   */
  int (*differ) (void *opaque, uint64_t first, uint64_t count);
  void *opaque;

  /* Results. */
  bool any;                     /* blocks differ */
  bool tail_unknown;            /* the leaves do not show whether TAIL does */
  int failed;                   /* which iterator returned an error, 0 or 1; or
                                 * DIFFER did, or the runs are of different
                                 * blocks: -1 */
  uint64_t first, count;        /* the range not reported yet; or COUNT is 0 */
};

/* The block in which the smaller image ends, if it is shorter there than in the
 * larger one: leaves of different lengths cannot be compared.
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
