/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: merge the manifests of the parts of an image, and compute its sum.
 *
 * The leaves of the image are those of its parts, one after the other.  First
 * the headers of all parts are read: all must be of one plan, and have each
 * block of the image once.  No file stays open, because there can be many.  A
 * part that another process replaces meanwhile has the same leaves.
 */

#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/common/clock.h"
#include "../lib/common/text.h"
#include "../lib/common/util.h"
#include "../lib/manifest/manifest.h"
#include "blkhash-manifest.h"
#include "job/job.h"
#include "job/manifest-file.h"
#include "job/manifest-operand.h"
#include "job/overlay-runs.h"
#include "job/plan.h"
#include "util/error.h"
#include "util/ranges.h"

struct part_file {
  char *path;
  const char *operand;          /* to which messages belong */
  const char *name;             /* in messages after the operand; NULL if the
                                 * operand is the file */
  uint64_t first, end;          /* blocks from FIRST up to END, exclusive */
};

struct merge {
  struct leaf_runs runs;        /* the iterator of the image */
  const struct merge_request *request;
  const char *dir;              /* the directory of all parts, or NULL */
  const struct progress *progress;
  struct manifest_file manifest;
  const char **operand;
  struct error *error;

  struct part_file *files;      /* in the order of the image */
  size_t count;
  struct plan plan;             /* if there is no directory, only what the first
                                 * header has; OPTS is NULL before that */

  /* The current part. */
  size_t opened;                /* number of opened files */
  struct manifest_runs part;    /* open if it has a reader */
  int fd;
  bool failed;                  /* a part failed: *OPERAND names it */
};

/* ---- A part ---- */

static int
open_regular (const char *path, struct error *error)
{
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat st = { .st_mode = 0 };

  if (fd == -1)
    return error_errno (error, errno, "cannot open");
  if (fstat (fd, &st) == 0 && S_ISREG (st.st_mode))
    return fd;
  close (fd);
  if (S_ISDIR (st.st_mode))
    return error_set (error, "is a directory; give it alone, or the parts in "
                      "it");
  return error_set (error, "is not a regular file, and a part is read more "
                    "than once");
}

/* Set the error to REASON, which is about FILE.  Returns -1. */
static int
fail (const struct merge *merge, const struct part_file *file,
      const char *reason)
{
  *merge->operand = file->operand;
  return file->name ? error_set (merge->error, "%s: %s", file->name, reason)
                    : error_set (merge->error, "%s", reason);
}

/* Check that the header of READER is of the plan. */
static int
check_header (const struct merge *merge,
              const struct blkhash_manifest_reader *reader,
              struct error *error)
{
  if (plan_has (&merge->plan, reader))
    return 0;
  return error_set (error, "is not of the plan of %s",
                    merge->dir ? "this directory" : merge->files[0].path);
}

/* Take the hash parameters and the size of the image, and the plan, from the
 * header of the first part.
 */
static int
use_header (struct merge *merge, const struct blkhash_manifest_reader *reader,
            struct error *error)
{
  const char *plan = manifest_reader_plan (reader);

  if (!*plan)
    return error_set (error, "has no plan, so it is not a part: 'blkhash parts' "
                      "makes the parts of an image");
  strcpy (merge->plan.id, plan);
  merge->plan.size = blkhash_manifest_reader_size (reader);
  merge->plan.opts = blkhash_opts_copy (blkhash_manifest_reader_opts (reader));
  return merge->plan.opts ? 0 : error_errno (error, errno, "cannot merge");
}

/* Open FILE, whose header is stored in it or, if AGAIN is set, must be the same
 * as before.  Returns 0, or -1 with the reason in merge->error.
 */
static int
open_part (struct merge *merge, struct part_file *file, bool again)
{
  struct blkhash_manifest_reader *reader = NULL;
  char text[BLKHASH_MAX_REASON_SIZE];
  struct error reason = { "" };
  uint64_t first, count;
  int r = -1;

  *merge->operand = file->operand;
  merge->fd = open_regular (file->path, &reason);
  if (merge->fd != -1) {
    reader = blkhash_manifest_reader_new (merge->fd, 0, text, sizeof text);
    r = !reader ? error_set (&reason, "%s", text)
      : merge->plan.opts ? check_header (merge, reader, &reason)
      : use_header (merge, reader, &reason);
  }
  if (r == 0) {
    blkhash_manifest_reader_blocks (reader, &first, &count);
    if (again && (first != file->first || first + count != file->end))
      r = error_set (&reason, "it changed while it was read");
    file->first = first;
    file->end = first + count;
  }
  manifest_runs_init (&merge->part, reader, file->name, merge->plan.size,
                      merge->progress, merge->error);
  return r == 0 ? 0 : fail (merge, file, reason.text);
}

static void
close_part (struct merge *merge)
{
  blkhash_manifest_reader_free (merge->part.reader);
  merge->part.reader = NULL;
  if (merge->fd != -1)
    close (merge->fd);
  merge->fd = -1;
}

/* ---- All parts ---- */

/* Add the part at PATH, which is freed later. */
static int
add_part (struct merge *merge, char *path, const char *operand)
{
  struct part_file *file = &merge->files[merge->count];
  int r;

  if (!path)
    return error_errno (merge->error, ENOMEM, "cannot merge");
  *file = (struct part_file) { .path = path, .operand = operand };
  if (merge->dir)
    file->name = path + strlen (merge->dir) + 1;
  merge->count++;
  r = open_part (merge, file, false);
  close_part (merge);
  return r;
}

static int
add_operand (struct merge *merge, const char *operand)
{
  return add_part (merge, strdup (job_manifest_file (operand)), operand);
}

/* Add the parts in the directory that exist. */
static int
add_directory (struct merge *merge)
{
  struct part part = { 0, merge->plan.parts };
  int r = 0;

  for (; part.i < part.n && r == 0; part.i++) {
    char *path = part_path (&part, merge->dir);

    if (path && access (path, F_OK) == -1 && errno == ENOENT)
      free (path);
    else
      r = add_part (merge, path, merge->dir);
  }
  return r;
}

static int
read_directory (struct merge *merge)
{
  const char *wanted = merge->request->plan;
  enum answer found;

  *merge->operand = merge->dir;
  found = plan_read (&merge->plan, merge->dir, merge->error);
  if (found == ANSWER_NO)
    return error_set (merge->error, "has no plan; blkhash parts writes one");
  if (found == ANSWER_FAILED)
    return -1;
  if (wanted && strcmp (wanted, merge->plan.id) != 0)
    return error_set (merge->error, "has another plan now");
  merge->files = calloc (merge->plan.parts, sizeof *merge->files);
  return merge->files ? add_directory (merge)
                      : error_errno (merge->error, errno, "cannot merge");
}

static int
read_operands (struct merge *merge)
{
  const struct merge_request *request = merge->request;
  size_t i;
  int r = 0;

  merge->files = calloc (request->count, sizeof *merge->files);
  if (!merge->files)
    return error_errno (merge->error, errno, "cannot merge");
  for (i = 0; i < request->count && r == 0; i++)
    r = add_operand (merge, request->paths[i]);
  return r;
}

/* Check whether an audit has failed in the directory of FILE. */
static enum job_status
check_failed_of (const struct part_file *file, struct error *error)
{
  char *copy = strdup (file->path);
  enum job_status r = copy ? plan_check_failed (dirname (copy), error)
    : error_errno (error, ENOMEM, "cannot merge");

  free (copy);
  return r;
}

/* The same for all parts.  *OPERAND is set unless it returns JOB_DONE. */
static enum job_status
check_failed (const struct merge *merge)
{
  enum job_status r = JOB_DONE;

  if (merge->dir)
    r = plan_check_failed (merge->dir, merge->error);
  if (r != JOB_DONE)
    *merge->operand = merge->dir;
  for (size_t i = 0; i < merge->count && !merge->dir && r == JOB_DONE; i++) {
    r = check_failed_of (&merge->files[i], merge->error);
    if (r != JOB_DONE)
      *merge->operand = merge->files[i].operand;
  }
  return r;
}

/* Compare the positions of two parts in the image.  A part without blocks is
 * sorted before any other part that starts at the same block.
 */
static int
compare_files (const void *a, const void *b)
{
  const struct part_file *x = a, *y = b;

  if (x->first != y->first)
    return x->first < y->first ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

/* Print to OUT that the blocks from FIRST up to END are missing, if there are
 * any.
 */
static void
print_missing (const struct merge *merge, uint64_t first, uint64_t end,
               FILE *out)
{
  uint32_t block_size = blkhash_opts_get_block_size (merge->plan.opts);
  uint64_t start = part_offset (first, merge->plan.size, block_size);

  if (first < end)
    fprintf (out, "%" PRIu64 " bytes at %" PRIu64 " are missing\n",
             part_offset (end, merge->plan.size, block_size) - start, start);
}

/* Check that each block is in one part, and print to OUT which are in none. */
static int
find_missing (struct merge *merge, FILE *out)
{
  uint32_t block_size = blkhash_opts_get_block_size (merge->plan.opts);
  const struct part_file *before = NULL;
  struct error reason = { "" };
  uint64_t block = 0;
  size_t i;

  for (i = 0; i < merge->count; i++) {
    const struct part_file *file = &merge->files[i];

    if (file->first == file->end)
      continue;
    if (before && file->first < block) {
      error_set (&reason, "overlaps %s", before->path);
      return fail (merge, file, reason.text);
    }
    print_missing (merge, block, file->first, out);
    block = file->end;
    before = file;
  }
  print_missing (merge, block, DIV_ROUND_UP (merge->plan.size, block_size),
                 out);
  return 0;
}

static int
check_blocks (struct merge *merge)
{
  char *missing = NULL;
  size_t size;
  FILE *out = open_memstream (&missing, &size);
  int r;

  if (!out)
    return error_errno (merge->error, errno, "cannot merge");
  qsort (merge->files, merge->count, sizeof *merge->files, compare_files);
  *merge->operand = merge->dir ? merge->dir : "the image";
  r = find_missing (merge, out);
  if (!memstream_close (out, &missing))
    r = error_errno (merge->error, ENOMEM, "cannot merge");
  else if (r == 0 && *missing)
    r = error_set_lines (merge->error, missing);
  free (missing);
  return r;
}

/* ---- The leaves of the image ---- */

/* Returns 0; ENOENT at the end of the last part; or an errno value. */
static int
next_run (struct merge *merge, struct blkhash_manifest_run *run)
{
  int err = ENOENT;

  for (;;) {
    if (merge->part.reader)
      err = merge->part.runs.next (&merge->part.runs, run);
    if (err != ENOENT || merge->opened == merge->count)
      return err;
    close_part (merge);
    if (open_part (merge, &merge->files[merge->opened++], true) == -1)
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

/* An audit can have failed while the parts were read. */
static enum job_status
finish (struct merge *merge, struct sum *sum)
{
  enum job_status r = check_failed (merge);

  if (r != JOB_DONE)
    return r;
  sum->size = merge->plan.size;
  r = manifest_file_finish (&merge->manifest, sum, merge->error);
  sum->hole = sum->zero;
  sum->zero = 0;
  if (r == JOB_DONE)
    r = manifest_file_publish (&merge->manifest, merge->error);
  return r;
}

static enum job_status
write_manifest (struct merge *merge, struct sum *sum)
{
  const char *name = merge->request->hash.manifest;
  const char *about = name ? name : *merge->operand;
  enum job_status r;

  *merge->operand = about;
  if (manifest_file_open (&merge->manifest, name, merge->plan.opts,
                          merge->plan.size, NULL, merge->error) == -1)
    return JOB_FAILED;
  merge->progress = progress_begin (&merge->request->hash.progress,
                                    merge->plan.size);
  r = manifest_file_write (&merge->manifest, &merge->runs, merge->error);
  close_part (merge);
  if (!merge->failed)
    *merge->operand = about;
  if (r == JOB_DONE)
    r = finish (merge, sum);
  progress_end (merge->progress, r == JOB_DONE);
  manifest_file_close (&merge->manifest);
  return r;
}

/* ---- The job ---- */

static bool
is_directory (const char *path)
{
  struct stat st;

  return stat (path, &st) == 0 && S_ISDIR (st.st_mode);
}

static enum job_status
merge_parts (struct merge *merge, struct sum *sum)
{
  enum job_status r = merge->dir ? check_failed (merge) : JOB_DONE;

  if (r == JOB_DONE)
    r = merge->dir ? read_directory (merge) : read_operands (merge);
  if (r == JOB_DONE && !merge->dir)
    r = check_failed (merge);
  if (r == JOB_DONE)
    r = check_blocks (merge);
  if (r == JOB_DONE)
    r = write_manifest (merge, sum);
  return r;
}

enum job_status
job_merge (const struct merge_request *request, struct sum *sum,
           const char **operand, struct error *error)
{
  struct merge merge = {
    .runs.next = next, .request = request, .operand = operand, .error = error,
    .fd = -1,
  };
  double start = clock_seconds ();
  enum job_status r;

  *sum = (struct sum) { .format = "manifest" };
  *operand = request->paths[0];
  if (request->count == 1 && is_directory (request->paths[0]))
    merge.dir = request->paths[0];
  r = merge_parts (&merge, sum);
  while (merge.count > 0)
    free (merge.files[--merge.count].path);
  free (merge.files);
  if (r == JOB_DONE) {
    sum->hash = merge.plan.opts;
    merge.plan.opts = NULL;
  }
  plan_destroy (&merge.plan);
  sum->seconds = clock_seconds () - start;
  return r;
}
