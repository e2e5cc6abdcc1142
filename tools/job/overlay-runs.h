/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Two iterators: the leaves in a manifest; and those of an image that are
 * overlaid on the leaves of a base, such as an older manifest.
 *
 * The class of a block in the audit sample (see util/ranges.h) selects its
 * leaf.  A trusted block has the leaf of the base.  An unknown block has the
 * leaf of the image.  So has an audited block, but that leaf is compared with
 * the leaf of the base, and each range of blocks that differ is reported.
 */

#ifndef BLKSUM_OVERLAY_RUNS_H
#define BLKSUM_OVERLAY_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "../lib/manifest/manifest-diff.h"

struct audit_sample;
struct blkhash_manifest_reader;
struct error;
struct progress;

struct manifest_runs {
  struct leaf_runs runs;
  struct blkhash_manifest_reader *reader;
  const char *name;             /* name of the manifest, with which the text
                                 * in ERROR begins; or NULL */
  uint64_t size;                /* bytes; blocks beyond it are read, but not
                                 * returned */
  const struct progress *progress; /* counts bytes of the image; or NULL */
  struct error *error;          /* receives the reason */
};

/* Initialize an iterator of the first SIZE bytes of the image whose manifest
 * READER reads.
 */
void manifest_runs_init (struct manifest_runs *manifest,
                         struct blkhash_manifest_reader *reader,
                         const char *name, uint64_t size,
                         const struct progress *progress,
                         struct error *error);

struct overlay_runs {
  struct leaf_runs runs;

  /* Set by the caller. */
  struct leaf_runs *base;       /* read to its end, where it is verified */
  struct leaf_runs *image;      /* its leaves of trusted blocks are ignored */
  const struct audit_sample *sample;
  const char *base_name;
  uint64_t size;                /* size of the image, bytes */
  uint32_t block_size;
  const struct progress *progress; /* counts the bytes of leaves that are taken
                                    * from the base */
  struct error *error;          /* receives the reason */
  void (*report) (void *opaque, uint64_t start, uint64_t length); /* bytes */
  void *opaque;

  /* The results. */
  bool differs;                 /* an audited block differs */
  uint64_t base_zeros;          /* zeros from the base, bytes */

  struct blkhash_manifest_run image_left, base_left; /* the rest of the last run
                                                      * of IMAGE, and of BASE */
  struct blkhash_manifest_run difference; /* blocks that differ, and were not
                                           * reported yet */
};

/* Initialize OVERLAY.  The caller has set the fields that are marked so above,
 * and zeroed all others.
 */
void overlay_runs_init (struct overlay_runs *overlay);

#endif /* BLKSUM_OVERLAY_RUNS_H */
