/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the sum of one source.
 *
 * A leaf table computes the sum while the source fills it.  With --manifest,
 * the writer of the manifest computes the sum from the leaves that it receives.
 */

#include <config.h>

#include <errno.h>

#include "blkhash.h"

#include "../lib/common/clock.h"
#include "job/image-runs.h"
#include "job/job.h"
#include "job/manifest-file.h"
#include "job/manifest-operand.h"
#include "read/scan.h"
#include "source/source.h"
#include "util/error.h"

static int
hash_to_sum (const struct hash_request *request, struct source *source,
             struct sum *sum, struct error *error)
{
  struct blkhash_leaves *leaves =
    blkhash_leaves_new (request->opts, source->size, BLKHASH_LEAVES_ONCE);
  struct scan_request all = { .opts = request->opts };
  int r;

  if (!leaves)
    return error_errno (error, errno, "cannot hash");
  all.progress = progress_begin (&request->progress, source->size);
  r = image_table_fill (source, leaves, &all, sum, error);
  progress_end (all.progress, r == 0);
  blkhash_leaves_free (leaves);
  return r;
}

static int
hash_with_manifest (const struct hash_request *request, struct source *source,
                    struct sum *sum, struct error *error)
{
  struct scan_request all = { .opts = request->opts };
  struct manifest_file manifest;
  int r;

  if (manifest_file_open (&manifest, request->manifest, request->opts,
                          source->size, source, error) == -1)
    return -1;
  all.progress = progress_begin (&request->progress, source->size);
  r = manifest_file_hash (&manifest, source, &all, sum, error);
  progress_end (all.progress, r == 0);
  if (r == 0)
    r = manifest_file_publish (&manifest, error);
  manifest_file_close (&manifest);
  return r;
}

int
job_hash_source (const struct hash_request *request, struct source *source,
                 struct sum *sum, struct error *error)
{
  *sum = (struct sum) { .hash = NULL };
  return request->manifest ? hash_with_manifest (request, source, sum, error)
                           : hash_to_sum (request, source, sum, error);
}

int
job_hash (const struct hash_request *request, struct sum *sum,
          struct error *error)
{
  const char *manifest = job_manifest_path (request->operand);
  double start = clock_seconds ();
  struct source *source;
  int r;

  if (manifest && (request->manifest || request->source.format ||
                   request->source.size != SOURCE_WHOLE))
    return error_set (error, "--manifest, --size and -f are for images, and "
                      "this is a manifest");
  if (manifest)
    r = job_manifest (request, manifest, sum, error);
  else {
    if (source_open (&request->source, request->operand, &source, error) == -1)
      return -1;
    r = job_hash_source (request, source, sum, error);
    source_close (source);
  }
  sum->seconds = clock_seconds () - start;
  return r;
}
