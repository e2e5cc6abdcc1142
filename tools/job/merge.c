/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the manifest and the sum of an image whose parts have manifests.
 *
 * Leaves are put into a table in the order of the image, which tells the writer
 * of the manifest at once, so that it keeps none.  What several parts say is
 * compared before the manifest gets its end.
 */

#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "blkhash-manifest.h"

#include "../lib/common/sum-kind.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "job/kind.h"
#include "job/manifest-file.h"
#include "job/merge.h"
#include "job/overlap.h"
#include "job/part-reader.h"
#include "job/parts.h"
#include "util/clock.h"
#include "util/error.h"

struct merge {
  const struct options *options;
  struct parts parts;
  unsigned leaf_size;           /* bytes */
  struct progress progress;
  struct blkhash_leaves *leaves;
  struct manifest_file manifest;
  const char *says_sum;         /* the file of a whole image, or NULL */
  unsigned char says_md[BLKHASH_MAX_MD_SIZE];
  const char **operand;
};

/* ---- The sum that a part says ---- */

/* An overlap_sum_function. */
static int
take_sum (void *opaque, const char *path, const unsigned char *md,
          unsigned len, struct error *error)
{
  struct merge *merge = opaque;

  if (merge->says_sum && memcmp (merge->says_md, md, len) != 0)
    return error_set (error, "says another sum than %s", merge->says_sum);
  merge->says_sum = path;
  memcpy (merge->says_md, md, len);
  return 0;
}

/* Its leaves are those that SUM is made of. */
static int
check_sum (const struct merge *merge, const struct sum *sum,
           struct error *error)
{
  if (!merge->says_sum || memcmp (merge->says_md, sum->md, sum->md_len) == 0)
    return 0;
  *merge->operand = merge->says_sum;
  return error_set (error, "the sum is not that of the leaves");
}

/* ---- The leaves ---- */

static int
put_file (struct merge *merge, struct part_reader *r,
          const struct part_file *file, struct error *error)
{
  unsigned char md[BLKHASH_MAX_MD_SIZE];
  struct blkhash_manifest_run run;
  int found, err = 0;
  unsigned len;

  *merge->operand = file->path;
  if (part_reader_seek (r, file, file->from, error) == -1)
    return -1;
  while (err == 0 && (found = part_reader_peek (r, file->end, &run, error))) {
    if (found == -1)
      return -1;
    err = blkhash_leaves_put_run (merge->leaves, &run);
    progress_add (&merge->progress,
                  parts_offset (&merge->parts, run.first + run.count) -
                  parts_offset (&merge->parts, run.first));
    part_reader_take (r, run.count);
  }
  if (err) {
    *merge->operand = merge->options->manifest;
    error_errno (error, err, "cannot merge");
    manifest_file_explain (&merge->manifest, error);
    return -1;
  }
  if (part_reader_finish (r, md, &len, error) == -1)
    return -1;
  if (file->first > 0 || file->end < merge->parts.blocks)
    return 0;
  return take_sum (merge, file->path, md, len, error);
}

static int
put_files (struct merge *merge, struct error *error)
{
  struct part_reader reader;
  size_t i;
  int r = 0;

  part_reader_init (&reader, &merge->parts, merge->leaf_size);
  for (i = 0; i < merge->parts.count && r == 0; i++)
    if (merge->parts.files[i].needed)
      r = put_file (merge, &reader, &merge->parts.files[i], error);
  part_reader_destroy (&reader);
  return r;
}

/* ---- The manifest ---- */

static int
fold (struct merge *merge, struct sum *sum, struct error *error)
{
  int err = blkhash_leaves_fold (merge->leaves, sum->md, &sum->md_len);

  *merge->operand = merge->options->manifest;
  if (err) {
    error_errno (error, err, "cannot merge");
    manifest_file_explain (&merge->manifest, error);
    return -1;
  }
  if (check_sum (merge, sum, error) == -1)
    return -1;
  blkhash_leaves_count (merge->leaves, &sum->data, &sum->hole);
  sum->size = merge->parts.size;
  return manifest_file_finish (&merge->manifest, sum, error);
}

static int
write_manifest (struct merge *merge, struct sum *sum, struct error *error)
{
  int r;

  *merge->operand = merge->options->manifest;
  if (manifest_file_open (&merge->manifest, merge->options->manifest,
                          merge->parts.opts, merge->parts.size, NULL,
                          merge->leaves, error) == -1)
    return -1;
  progress_init (&merge->progress, merge->options, merge->parts.size);
  r = put_files (merge, error);
  if (r == 0)
    r = overlap_check (&merge->parts, merge->leaf_size, take_sum, merge,
                       merge->operand, error);
  if (r == 0)
    r = fold (merge, sum, error);
  progress_end (&merge->progress, r == 0);
  manifest_file_close (&merge->manifest);
  return r;
}

/* Of the parts, whose headers were read. */
static int
merge_parts (struct merge *merge, struct sum *sum, struct error *error)
{
  int err, r;

  *merge->operand = merge->options->manifest;
  if (parts_choose (&merge->parts, error) == -1)
    return -1;
  err = sum_kind_size (merge->parts.opts, &merge->leaf_size);
  if (err)
    return error_errno (error, err, "cannot merge");
  merge->leaves = blkhash_leaves_new (merge->parts.opts, merge->parts.size,
                                      BLKHASH_LEAVES_ONCE);
  if (!merge->leaves)
    return error_errno (error, errno, "cannot merge");
  sum->hash = kind_copy (merge->parts.opts);
  r = sum->hash ? write_manifest (merge, sum, error)
                : error_errno (error, errno, "cannot merge");
  if (r == -1)
    blkhash_opts_free (sum->hash);
  blkhash_leaves_free (merge->leaves);
  return r;
}

int
job_merge (const struct options *options, struct sum *sum,
           const char **operand, struct error *error)
{
  struct merge merge = { .options = options, .operand = operand };
  double start = clock_seconds ();
  int r;

  *sum = (struct sum) { .format = "manifest" };
  r = parts_open (&merge.parts, options, options->operands,
                  options->nr_operands, operand, error);
  if (r == 0)
    r = merge_parts (&merge, sum, error);
  parts_close (&merge.parts);
  sum->seconds = clock_seconds () - start;
  return r;
}
