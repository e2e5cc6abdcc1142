/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: merge the manifests of the parts of an image, and compute its sum.
 *
 * The leaves of the image are those of its parts, one after the other.  If
 * there are duplicates of a part, their manifests are compared before the end
 * of the merged manifest is written.
 */

#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <unistd.h>

#include "blkhash-manifest.h"

#include "job/job.h"
#include "job/manifest-file.h"
#include "job/parts.h"
#include "leaves/manifest-runs.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/request.h"
#include "util/result.h"

struct merge {
  struct leaf_runs runs;        /* the iterator of the image */
  const struct merge_request *request;
  struct parts parts;
  const struct progress *progress;
  struct manifest_file manifest;
  const char **operand;
  struct error *error;

  /* The current part. */
  size_t opened;                /* number of opened files, with duplicates */
  struct manifest_runs part;    /* open if it has a reader */
  int fd;
  bool failed;                  /* a part failed: *OPERAND names it */
};

/* ---- Duplicate parts ---- */

static int
stop_at_difference (void *opaque, uint64_t start, uint64_t len)
{
  uint64_t *offset = opaque;

  (void) len;
  *offset = start;
  return ECANCELED;
}

/* Compare the leaves of FILE with those of the previous file; both are open. */
static int
compare_leaves (struct merge *merge, const struct part_file *file,
                struct blkhash_manifest_reader *before,
                struct blkhash_manifest_reader *reader, struct error *error)
{
  const char *why;
  uint64_t offset;
  int err = blkhash_manifest_diff (before, reader, stop_at_difference, &offset);

  if (err == 0)
    return 0;
  if (err == ECANCELED)
    return error_set (error, "differs from %s in the block at %" PRIu64,
                      file[-1].path, offset);
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
  fd_before = parts_reopen (&merge->parts, file - 1, &before, error);
  if (fd_before == -1)
    return -1;
  *merge->operand = file->path;
  fd = parts_reopen (&merge->parts, file, &reader, error);
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

static void
close_part (struct merge *merge)
{
  if (!merge->part.reader)
    return;
  blkhash_manifest_reader_free (merge->part.reader);
  close (merge->fd);
  merge->part.reader = NULL;
}

static int
open_part (struct merge *merge, const struct part_file *file)
{
  struct blkhash_manifest_reader *reader;

  if (file->duplicate)
    return compare_file (merge, file, merge->error);
  *merge->operand = file->path;
  merge->fd = parts_reopen (&merge->parts, file, &reader, merge->error);
  if (merge->fd == -1)
    return -1;
  manifest_runs_init (&merge->part, reader, NULL, merge->parts.size,
                      merge->progress, merge->error);
  return 0;
}

/* Returns 0; ENOENT at the end of the last part; or an errno value. */
static int
next_run (struct merge *merge, struct blkhash_manifest_run *run)
{
  int err = ENOENT;

  for (;;) {
    if (merge->part.reader)
      err = merge->part.runs.next (&merge->part.runs, run);
    if (err != ENOENT || merge->opened == merge->parts.count)
      return err;
    close_part (merge);
    if (open_part (merge, &merge->parts.files[merge->opened++]) == -1)
      return ECANCELED;
  }
}

static int
next (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct merge *merge = (struct merge *) runs;
  int err = next_run (merge, run);

  merge->failed = err && err != ENOENT;
  return err;
}

/* ---- The manifest ---- */

static int
finish (struct merge *merge, struct sum *sum, struct error *error)
{
  sum->size = merge->parts.size;
  if (manifest_file_finish (&merge->manifest, sum, error) == -1)
    return -1;
  sum->hole = sum->zero;
  sum->zero = 0;
  return manifest_file_publish (&merge->manifest, error);
}

static int
write_manifest (struct merge *merge, struct sum *sum, struct error *error)
{
  const char *name = merge->request->hash.manifest;
  int r;

  *merge->operand = name;
  if (manifest_file_open (&merge->manifest, name, merge->parts.opts,
                          merge->parts.size, NULL, error) == -1)
    return -1;
  merge->progress = progress_begin (&merge->request->hash.progress,
                                    merge->parts.size);
  r = manifest_file_write (&merge->manifest, &merge->runs, error);
  close_part (merge);
  if (!merge->failed)
    *merge->operand = name;
  if (r == 0)
    r = finish (merge, sum, error);
  progress_end (merge->progress, r == 0);
  manifest_file_close (&merge->manifest);
  return r;
}

/* Merge the parts, whose headers were read. */
static int
merge_parts (struct merge *merge, struct sum *sum, struct error *error)
{
  int r;

  *merge->operand = merge->request->hash.manifest;
  if (parts_check (&merge->parts, merge->operand, error) == -1)
    return -1;
  sum->hash = blkhash_opts_copy (merge->parts.opts);
  r = sum->hash ? write_manifest (merge, sum, error)
                : error_errno (error, errno, "cannot merge");
  if (r == -1)
    blkhash_opts_free (sum->hash);
  return r;
}

int
job_merge (const struct merge_request *request, struct sum *sum,
           const char **operand, struct error *error)
{
  struct merge merge = {
    .runs.next = next, .request = request, .operand = operand, .error = error
  };
  double start = clock_seconds ();
  int r;

  *sum = (struct sum) { .format = "manifest" };
  r = parts_open (&merge.parts, &request->hash, request->paths, request->count,
                  operand, error);
  if (r == 0)
    r = merge_parts (&merge, sum, error);
  parts_close (&merge.parts);
  sum->seconds = clock_seconds () - start;
  return r;
}
