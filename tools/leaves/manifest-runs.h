/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The leaves in a manifest, as an iterator.
 */

#ifndef BLKSUM_MANIFEST_RUNS_H
#define BLKSUM_MANIFEST_RUNS_H

#include <stdint.h>

#include "../lib/manifest/leaf-runs.h"

struct blkhash_manifest_reader;
struct error;
struct progress;

struct manifest_runs {
  struct leaf_runs runs;
  struct blkhash_manifest_reader *reader;
  const char *name;             /* in front of a reason, or NULL */
  uint64_t size;                /* bytes: blocks behind it are only read */
  uint64_t trailing;            /* the first of those that is data, after the
                                 * end; UINT64_MAX: there is none */
  struct progress *progress;    /* is told of each byte; or NULL */
  struct error *error;          /* where the reason is wanted */
};

/* Of the first SIZE bytes of the image that READER reads the manifest of. */
void manifest_runs_init (struct manifest_runs *manifest,
                         struct blkhash_manifest_reader *reader,
                         const char *name, uint64_t size,
                         struct progress *progress, struct error *error);

#endif /* BLKSUM_MANIFEST_RUNS_H */
