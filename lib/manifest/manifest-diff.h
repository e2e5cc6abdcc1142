/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Compare two images by their leaves, the digests of their blocks.
 */

#ifndef BLKHASH_MANIFEST_DIFF_H
#define BLKHASH_MANIFEST_DIFF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "blkhash-manifest.h"

/* ---- Runs of leaves ----
 *
 * An iterator that returns the leaves of an image, in order, as runs:
 * consecutive blocks that are all data, or all zeros.
 *
 * Every producer of leaves implements it: a manifest, an image that is being
 * hashed, a combination of other iterators.  A consumer calls it from one
 * thread at a time, without a lock, and keeps only the current run.
 *
 * Struct leaf_runs is the first member of the producer's struct.  The creator
 * of the producer, not the consumer, destroys it.
 */

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

/* Returns true if leaves of A and B can be compared: they have the same digest
 * and block size.  The construction does not matter.
 */
static inline bool
leaves_are_comparable (const struct blkhash_opts *a,
                       const struct blkhash_opts *b)
{
  return blkhash_opts_get_block_size (a) == blkhash_opts_get_block_size (b) &&
    strcmp (blkhash_opts_get_digest_name (a),
            blkhash_opts_get_digest_name (b)) == 0;
}

/* ---- Two iterators ----
 *
 * Compare the leaves of two images, and return the blocks that differ, one
 * range at a time.  Only one run of consecutive leaves of each image is in
 * memory.  All functions run in the calling thread.
 */

#define LEAF_DIFF_NO_BLOCK UINT64_MAX

struct leaf_diff {
  /* Set by the caller.  The two iterators must begin at the same block, and
   * have leaves of the same size.
   */
  struct leaf_diff_input {
    struct leaf_runs *runs;
    struct blkhash_manifest_run run; /* 0; private: the rest of the current
                                      * run */
    bool ended;                 /* 0; private */
  } inputs[2];
  uint64_t tail;                /* the block in which the smaller image ends,
                                 * if this block is longer in the larger image:
                                 * its leaves cannot be compared; or
                                 * LEAF_DIFF_NO_BLOCK */
  uint64_t begin, end;          /* if END is not 0, differences outside of the
                                 * blocks from BEGIN to END are ignored */
  bool report_tail;             /* return TAIL as different if it may differ */
  bool first_only;              /* return the first difference at once: its
                                 * range may be longer */

  /* Results, 0 before the comparison. */
  bool any;                     /* blocks differ, not counting TAIL if it is
                                 * unknown whether it differs */
  bool tail_unknown;            /* it is unknown whether TAIL differs */
  bool ended;                   /* both images were read to their ends: the
                                 * range that was returned is the last */
  int failed;                   /* after an error: the index of the input that
                                 * failed, or -1 if neither did */

  uint64_t first, count;        /* 0; private: the range that is not returned
                                 * yet, if COUNT is not 0 */
};

/* Find the next range of blocks that differ, in order, and store its first
 * block in *FIRST and the number of its blocks in *COUNT.  Blocks beyond the
 * end of one image are compared with zeros.  Adjacent ranges are merged: a
 * range is returned when the next one was found, or at the end.
 *
 * Returns 0; ENOENT if there is no other range, and both were read to their
 * ends; EINVAL if they begin at different blocks; or the error of one of them.
 * Must not be called again after an error or with FIRST_ONLY.
 */
int leaf_diff_next (struct leaf_diff *diff, uint64_t *first, uint64_t *count);

/* ---- Two manifests ---- */

/* Check that the sums of two manifests are consistent with their leaves.
 * DIFFER is true if the leaves differ.  The sums of images with the same size,
 * digest, block size and construction are equal if and only if their leaves
 * are.  Returns false if the sums are inconsistent.  Returns true if they are
 * consistent, or cannot be checked: because one of these properties differs, or
 * because a manifest is that of a part or was not read to its end.
 */
bool manifest_diff_fits_sums (const struct blkhash_manifest_reader *a,
                              const struct blkhash_manifest_reader *b,
                              bool differ);

#endif /* BLKHASH_MANIFEST_DIFF_H */
