/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaves of a subset of an image, as an iterator.  Blocks outside of the
 * subset are returned as zeros.
 */

#ifndef BLKSUM_SUBSET_RUNS_H
#define BLKSUM_SUBSET_RUNS_H

#include <stdint.h>

#include "../lib/manifest/leaf-runs.h"

struct subset;

struct subset_runs {
  struct leaf_runs runs;
  struct leaf_runs *all;        /* the runs of the whole image */
  const struct subset *subset;
  uint32_t block_size;          /* bytes */
  struct blkhash_manifest_run left; /* the rest of a run of ALL */
};

void subset_runs_init (struct subset_runs *subset_runs, struct leaf_runs *all,
                       const struct subset *subset, uint32_t block_size);

#endif /* BLKSUM_SUBSET_RUNS_H */
