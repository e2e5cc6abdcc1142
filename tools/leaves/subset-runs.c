/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaves of a subset of an image, as an iterator.
 */

#include <config.h>

#include <stddef.h>

#include "../lib/common/numbers.h"
#include "leaves/subset-runs.h"
#include "util/subset.h"

static int
next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct subset_runs *subset_runs = (struct subset_runs *) runs;
  struct blkhash_manifest_run *left = &subset_runs->left;
  uint64_t len, count;
  int err;

  if (left->count == 0) {
    err = subset_runs->all->next (subset_runs->all, left);
    if (err)
      return err;
  }
  *run = *left;
  if (!subset_has (subset_runs->subset, run->first * subset_runs->block_size,
                   &len))
    run->leaves = NULL;
  count = len / subset_runs->block_size;
  /* A run of zeros is not cut: it is the same inside and outside of the
   * subset.
   */
  if (left->leaves)
    run->count = MIN (run->count, count);
  leaf_run_skip (left, run->count);
  return 0;
}

void
subset_runs_init (struct subset_runs *subset_runs, struct leaf_runs *all,
                  const struct subset *subset, uint32_t block_size)
{
  *subset_runs = (struct subset_runs) {
    .runs.next = next, .all = all, .subset = subset, .block_size = block_size
  };
}
