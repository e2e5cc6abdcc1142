/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * An iterator that returns the leaves (digests of blocks) of an image, in
 * order, as runs: consecutive blocks that are all data, or all zeros.
 *
 * Every producer of leaves implements it: a manifest, an image that is being
 * hashed, a combination of other iterators.  A consumer calls it from one
 * thread at a time, without a lock, and keeps only the current run.
 *
 * Struct leaf_runs is the first member of the producer's struct.  The creator
 * of the producer, not the consumer, destroys it.
 */

#ifndef BLKHASH_LEAF_RUNS_H
#define BLKHASH_LEAF_RUNS_H

#include <stdint.h>

#include "blkhash-manifest.h"

struct leaf_runs {
  /* Store the next run in *RUN; its leaves are valid until the next call.  A
   * run begins where the previous one ends, and is never empty.  Returns 0;
   * ENOENT at the end; or another errno value, whose reason the producer
   * stores.  NEXT must not be called after an error.
   */
  int (*next) (struct leaf_runs *runs, struct blkhash_manifest_run *run);
};

/* Remove the first COUNT blocks from RUN. */
static inline void
leaf_run_skip (struct blkhash_manifest_run *run, uint64_t count)
{
  run->first += count;
  run->count -= count;
  if (run->leaves)
    run->leaves += count * run->leaf_size;
}

/* Returns the number of bytes of RUN in an image of SIZE bytes, whose last
 * block can be short.
 */
static inline uint64_t
leaf_run_bytes (const struct blkhash_manifest_run *run, uint64_t size,
                uint32_t block_size)
{
  uint64_t left = size - run->first * block_size;

  return run->count > left / block_size ? left : run->count * block_size;
}

#endif /* BLKHASH_LEAF_RUNS_H */
