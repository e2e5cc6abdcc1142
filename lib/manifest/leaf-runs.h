/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaves of an image, in order: an iterator of runs.
 *
 * Whatever has leaves is one: a manifest, an image that is hashed meanwhile, a
 * combination of others.  What takes leaves asks one thread at a time, holds no
 * lock, and keeps nothing but the run that it was given.
 *
 * Such a struct is the first member of what it iterates over, whose maker also
 * destroys it.
 */

#ifndef BLKHASH_LEAF_RUNS_H
#define BLKHASH_LEAF_RUNS_H

#include <stdint.h>

#include "blkhash-manifest.h"

struct leaf_runs {
  /* Store the next blocks in *RUN; their leaves are valid until the next call.
   * A run begins where the one before it ends, and is never empty.  0; ENOENT:
   * there are no more; or another errno value, the reason for which is where
   * the maker of the iterator wants it.  No call may follow an error.
   */
  int (*next) (struct leaf_runs *runs, struct blkhash_manifest_run *run);
};

/* Take the first COUNT blocks away from RUN. */
static inline void
leaf_run_skip (struct blkhash_manifest_run *run, uint64_t count)
{
  run->first += count;
  run->count -= count;
  if (run->leaves)
    run->leaves += count * run->leaf_size;
}

/* How many bytes the blocks of RUN have in an image of SIZE bytes: the last one
 * of them can be shorter.
 */
static inline uint64_t
leaf_run_bytes (const struct blkhash_manifest_run *run, uint64_t size,
                uint32_t block_size)
{
  uint64_t left = size - run->first * block_size;

  return run->count > left / block_size ? left : run->count * block_size;
}

#endif /* BLKHASH_LEAF_RUNS_H */
