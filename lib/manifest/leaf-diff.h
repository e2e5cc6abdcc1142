/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Which blocks of two images differ, by their leaves, which come in order.
 *
 * It knows nothing of where leaves come from, and keeps none of them.
 */

#ifndef BLKHASH_LEAF_DIFF_H
#define BLKHASH_LEAF_DIFF_H

#include <stddef.h>
#include <stdint.h>

#include "blkhash-manifest.h"

#define LEAF_DIFF_NO_BLOCK UINT64_MAX

struct leaf_diff {
  uint64_t tail;                /* see leaf_diff_tail */
  /* These blocks differ; nobody can tell whether the block TAIL does.  Not 0
   * ends the comparison.
   */
  int (*differ) (void *opaque, uint64_t first, uint64_t count);
  int (*may_differ) (void *opaque, uint64_t tail);
  void *opaque;
};

/* The block in which one of two images ends, and the other does not: it has
 * different lengths in them, so that two leaves of data say nothing.
 * LEAF_DIFF_NO_BLOCK if there is none.  Sizes are in bytes.
 */
uint64_t leaf_diff_tail (uint64_t size_a, uint64_t size_b,
                         uint32_t block_size);

/* A and B begin at the same block, and their leaves have the same size.
 * Compare what both have, and take it away: nothing is left of one of them
 * then.  What the functions returned.
 */
int leaf_diff_both (const struct leaf_diff *diff,
                    struct blkhash_manifest_run *a,
                    struct blkhash_manifest_run *b);

/* Likewise, where the other image has ended, as if that had zeros. */
int leaf_diff_alone (const struct leaf_diff *diff,
                     struct blkhash_manifest_run *run);

#endif /* BLKHASH_LEAF_DIFF_H */
