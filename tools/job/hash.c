/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the sum of one source.
 *
 * The job owns the leaf table and what is done with it; the source fills what
 * the table says is missing.
 */

#include <config.h>

#include <errno.h>
#include <stdio.h>

#include "blkhash.h"

#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "job/hash.h"
#include "job/manifest-file.h"
#include "job/manifest.h"
#include "leaves/image-table.h"
#include "source/open.h"
#include "source/source.h"
#include "util/clock.h"
#include "util/error.h"

static int
hash_all (const struct options *options, struct source *source,
          struct blkhash_leaves *leaves, struct sum *sum, struct error *error)
{
  struct progress progress;
  const struct image_request all = {
    .opts = options->hash, .progress = &progress
  };
  int r;

  progress_init (&progress, options, source->size);
  r = image_table_fill (source, leaves, &all, sum, error);
  progress_end (&progress, r == 0);
  return r;
}

static int
hash_with_manifest (struct source *source, struct blkhash_leaves *leaves,
                    const struct options *options, struct sum *sum,
                    struct error *error)
{
  struct manifest_file manifest;
  int r;

  if (manifest_file_open (&manifest, options->manifest, options->hash,
                          source->size, source, leaves, error) == -1)
    return -1;
  r = hash_all (options, source, leaves, sum, error);
  if (r == 0)
    r = manifest_file_finish (&manifest, sum, error);
  else
    manifest_file_explain (&manifest, error);
  if (r == 0)
    r = manifest_file_publish (&manifest, error);
  manifest_file_close (&manifest);
  return r;
}

int
job_hash_source (const struct options *options, struct source *source,
                 struct sum *sum, struct error *error)
{
  struct blkhash_leaves *leaves;
  unsigned flags = BLKHASH_LEAVES_ONCE;
  int r;

  *sum = (struct sum) { .hash = NULL };
  if (options->manifest)        /* its writer computes the sum */
    flags |= BLKHASH_LEAVES_NO_SUM;
  leaves = blkhash_leaves_new (options->hash, source->size, flags);
  if (leaves && options->manifest)
    r = hash_with_manifest (source, leaves, options, sum, error);
  else if (leaves)
    r = hash_all (options, source, leaves, sum, error);
  else
    r = error_errno (error, errno, "cannot hash");
  snprintf (sum->format, sizeof sum->format, "%s", source->format);
  blkhash_leaves_free (leaves);
  return r;
}

int
job_hash (const struct options *options, const char *operand,
          struct sum *sum, struct error *error)
{
  const char *manifest = job_manifest_path (operand);
  double start = clock_seconds ();
  struct source *source;
  int r;

  if (manifest)
    r = job_manifest (options, manifest, sum, error);
  else {
    if (source_open (&options->source, operand, &source, error) == -1)
      return -1;
    r = job_hash_source (options, source, sum, error);
    source_close (source);
  }
  sum->seconds = clock_seconds () - start;
  return r;
}
