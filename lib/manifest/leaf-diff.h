/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which blocks of two images differ, by their leaves.
 *
 * It knows nothing of where leaves come from, and keeps a run of each image.
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
  /* These blocks differ: ranges in order, neighbours joined.  Not 0 ends the
   * comparison, and is returned.  NULL: the first difference ends it.
   */
  int (*differ) (void *opaque, uint64_t first, uint64_t count);
  void *opaque;

  /* What came of it. */
  bool any;                     /* blocks differ */
  bool tail_unknown;            /* nobody can tell whether TAIL does */
  int failed;                   /* after an error of an iterator: 0 or 1, which;
                                 * of DIFFER: -1 */
  uint64_t first, count;        /* the last range, which was not told yet; or
                                 * COUNT is 0 */
};

/* The block in which one of two images ends, and the other does not: it has
 * different lengths in them, so that two leaves of data say nothing.
 * LEAF_DIFF_NO_BLOCK if there is none.  Sizes are in bytes.
 */
uint64_t leaf_diff_tail (uint64_t size_a, uint64_t size_b,
                         uint32_t block_size);

/* Compare the leaves of A and B, which begin at the same block and have the
 * same size, to the end of both, or to the first difference if that is enough.
 * What only one has is compared with zeros.  0, or an errno value.
 */
int leaf_diff (struct leaf_diff *diff, struct leaf_runs *a,
               struct leaf_runs *b);

/* Tell of the last range too.  What DIFFER returned. */
int leaf_diff_flush (struct leaf_diff *diff);

#endif /* BLKHASH_LEAF_DIFF_H */
