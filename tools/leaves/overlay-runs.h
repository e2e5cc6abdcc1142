/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaves of an image of which others, the base, say most, as an iterator.
 *
 * A sample says which blocks are taken from the base, which from the image, and
 * which from the image after a comparison with the base.
 */

#ifndef BLKSUM_OVERLAY_RUNS_H
#define BLKSUM_OVERLAY_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "../lib/manifest/leaf-runs.h"

struct audit_sample;
struct error;
struct progress;

struct overlay_runs {
  struct leaf_runs runs;

  /* Set by the maker. */
  struct leaf_runs *base;       /* or NULL, if nothing is taken from it */
  struct leaf_runs *image;      /* blocks that are taken from the base are
                                 * anything in it */
  const struct audit_sample *sample;
  const char *base_name;
  bool base_is_checked;         /* only at its end: it is asked up to there */
  uint64_t size;                /* of the image, bytes */
  uint32_t block_size;
  struct progress *progress;    /* is told of each byte of a leaf of the base */
  struct error *error;          /* why a block differs */

  /* What came of it. */
  bool differs;                 /* it ended with ECANCELED because of that */
  uint64_t base_zeros;          /* bytes that were taken from the base */

  struct blkhash_manifest_run image_left, base_left; /* of their last runs */
};

void overlay_runs_init (struct overlay_runs *overlay);

#endif /* BLKSUM_OVERLAY_RUNS_H */
