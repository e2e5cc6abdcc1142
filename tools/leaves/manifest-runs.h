/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaves in a manifest, as an iterator.
 */

#ifndef BLKSUM_MANIFEST_RUNS_H
#define BLKSUM_MANIFEST_RUNS_H

#include <stdint.h>

#include "../lib/manifest/manifest-diff.h"

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

#endif /* BLKSUM_MANIFEST_RUNS_H */
