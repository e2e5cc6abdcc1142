/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: the manifest and the sum of an image whose parts have manifests.
 *
 * Leaves are put into a table in the order of the image, which tells the writer
 * of the manifest at once, so that it keeps none.  A part that is there twice
 * is compared with the other before the manifest gets its end.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "job/manifest-file.h"
#include "job/merge.h"
#include "job/parts.h"
#include "util/clock.h"
#include "util/error.h"

struct merge {
  const struct options *options;
  struct parts parts;
  struct progress progress;
  struct blkhash_leaves *leaves;
  struct manifest_file manifest;
  const char **operand;
};

/* ---- The leaves ---- */

/* Returns -1 and the reason, which is about the manifest that is written. */
static int
fail_to_merge (struct merge *merge, int err, struct error *error)
{
  *merge->operand = merge->options->manifest;
  error_errno (error, err, "cannot merge");
  manifest_file_explain (&merge->manifest, error);
  return -1;
}

static int
put_leaves (struct merge *merge, struct blkhash_manifest_reader *reader,
            struct error *error)
{
  struct blkhash_manifest_run run;
  int end, err = 0;

  while (err == 0 && (end = blkhash_manifest_reader_next (reader, &run)) == 0) {
    err = blkhash_leaves_put_run (merge->leaves, &run);
    progress_add (&merge->progress,
                  parts_offset (&merge->parts, run.first + run.count) -
                  parts_offset (&merge->parts, run.first));
  }
  if (err)
    return fail_to_merge (merge, err, error);
  if (end != ENOENT)
    return error_set (error, "%s", blkhash_manifest_reader_error (reader));
  return 0;
}

static int
put_file (struct merge *merge, const struct part_file *file,
          struct error *error)
{
  struct blkhash_manifest_reader *reader;
  int r, fd;

  *merge->operand = file->path;
  fd = parts_open_again (&merge->parts, file, &reader, error);
  if (fd == -1)
    return -1;
  r = put_leaves (merge, reader, error);
  blkhash_manifest_reader_free (reader);
  close (fd);
  return r;
}

/* ---- The same part again ---- */

static int
note_difference (void *opaque, uint64_t start, uint64_t len)
{
  uint64_t *offset = opaque;

  (void) len;
  *offset = start;
  return ECANCELED;
}

/* Of FILE and the one before, both open. */
static int
compare_leaves (struct merge *merge, const struct part_file *file,
                struct blkhash_manifest_reader *before,
                struct blkhash_manifest_reader *reader, struct error *error)
{
  const char *why;
  uint64_t offset;
  int err = blkhash_manifest_diff (before, reader, note_difference, &offset);

  if (err == 0)
    return 0;
  if (err == ECANCELED)
    return error_set (error, "says something else than %s of the block at %"
                      PRIu64, file[-1].path, offset);
  why = blkhash_manifest_reader_error (reader);
  if (!*why) {
    *merge->operand = file[-1].path;
    why = blkhash_manifest_reader_error (before);
  }
  return error_set (error, "%s", why);
}

static int
compare_file (struct merge *merge, const struct part_file *file,
              struct error *error)
{
  struct blkhash_manifest_reader *before, *reader;
  int fd, fd_before, r = -1;

  *merge->operand = file[-1].path;
  fd_before = parts_open_again (&merge->parts, file - 1, &before, error);
  if (fd_before == -1)
    return -1;
  *merge->operand = file->path;
  fd = parts_open_again (&merge->parts, file, &reader, error);
  if (fd != -1) {
    r = compare_leaves (merge, file, before, reader, error);
    blkhash_manifest_reader_free (reader);
    close (fd);
  }
  blkhash_manifest_reader_free (before);
  close (fd_before);
  return r;
}

/* ---- All parts ---- */

static int
put_files (struct merge *merge, struct error *error)
{
  size_t i;
  int r = 0;

  for (i = 0; i < merge->parts.count && r == 0; i++) {
    const struct part_file *file = &merge->parts.files[i];

    r = file->again ? compare_file (merge, file, error)
                    : put_file (merge, file, error);
  }
  return r;
}

/* ---- The manifest ---- */

static int
fold (struct merge *merge, struct sum *sum, struct error *error)
{
  int err = blkhash_leaves_fold (merge->leaves, NULL, NULL);

  *merge->operand = merge->options->manifest;
  if (err)
    return fail_to_merge (merge, err, error);
  blkhash_leaves_count (merge->leaves, &sum->data, &sum->hole);
  sum->size = merge->parts.size;
  if (manifest_file_finish (&merge->manifest, sum, error) == -1)
    return -1;
  return manifest_file_publish (&merge->manifest, error);
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
    r = fold (merge, sum, error);
  progress_end (&merge->progress, r == 0);
  manifest_file_close (&merge->manifest);
  return r;
}

/* Of the parts, whose headers were read. */
static int
merge_parts (struct merge *merge, struct sum *sum, struct error *error)
{
  int r;

  *merge->operand = merge->options->manifest;
  if (parts_check (&merge->parts, merge->operand, error) == -1)
    return -1;
  merge->leaves = blkhash_leaves_new (merge->parts.opts, merge->parts.size,
                                      BLKHASH_LEAVES_ONCE |
                                      BLKHASH_LEAVES_NO_SUM);
  if (!merge->leaves)
    return error_errno (error, errno, "cannot merge");
  sum->hash = blkhash_opts_copy (merge->parts.opts);
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
