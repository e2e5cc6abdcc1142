/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Create a manifest from the image and from another manifest, the baseline,
 * which has most of the leaves.  --resume and --update use this.
 *
 * The image is read where the baseline has no leaves, or where the image has
 * changed since the baseline was made.  A random sample of all other blocks is
 * also read, as an audit.  Leaves of the baseline are not kept in memory: they
 * are read in order, when the new manifest needs them.
 */

#ifndef BLKSUM_INCREMENTAL_H
#define BLKSUM_INCREMENTAL_H

#include <stdbool.h>
#include <stdint.h>

#include "blkhash-manifest.h"

#include "job/manifest-file.h"
#include "util/audit-sample.h"

struct error;
struct hash_request;
struct journal;
struct ranges;
struct source;
struct sum;

/* The baseline: the manifest whose leaves are trusted. */
struct baseline {
  struct blkhash_manifest_reader *reader; /* NULL if there is no baseline */
  const char *name;             /* name of the manifest */
  bool finished;                /* it has an end record, with a sum to verify */
  struct ranges *unknown;       /* ranges that are read: the baseline has no
                                 * leaves of them, or outdated ones */
  uint32_t audit;               /* share of the blocks outside of UNKNOWN to
                                 * audit, in millionths of a percent */
};

struct incremental {
  const struct hash_request *request;
  struct source *source;
  const struct baseline *baseline;
  struct audit_sample sample;
  struct manifest_file manifest;
};

/* Begin the manifest of REQUEST for SOURCE.  For POLICY see job/overwrite.h.
 * BASELINE must outlive INCREMENTAL; its unknown ranges must be sorted, and are
 * extended to whole units of the audit sample (see util/audit-sample.h).
 * Returns 0, or -1 with the reason; then INCREMENTAL must not be closed.
 */
int incremental_open (struct incremental *incremental,
                      const struct hash_request *request,
                      enum overwrite_policy policy, struct source *source,
                      const struct baseline *baseline, struct error *error);

/* Read the image where needed, finish the manifest, which the caller publishes,
 * and set SUM like job_hash_source.  Append all leaves to JOURNAL, unless it is
 * NULL.  Returns 0; 1 with ERROR set if an audited block does not match the
 * baseline; or -1 with the reason.
 */
int incremental_hash (struct incremental *incremental,
                      struct journal *journal, struct sum *sum,
                      struct error *error);

/* Close INCREMENTAL.  The manifest is discarded unless manifest_file_publish
 * has published it.
 */
void incremental_close (struct incremental *incremental);

#endif /* BLKSUM_INCREMENTAL_H */
