/* SPDX-FileCopyrightText: The blkhash authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The job: hash an image in parts, each of which has a file in a directory, and
 * merge them.
 *
 * The plan in this directory says of which state of the image the parts are
 * (see job/plan.h).  A part gets its name when it is complete and synced, so a
 * process can be killed at any moment, and another one continues.  Two
 * processes can hash the same part at once: its file is the same.
 *
 * A part that exists is read to its end, and a random sample of its blocks is
 * audited: they are read from the image, and compared.  So a change of the
 * image that the plan does not show, or a part of another image, can be found.
 * Then the file "failed" is written before anything is reported, because the
 * next sample may miss what this one has found.
 */

#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/common/clock.h"
#include "../lib/common/same-file.h"
#include "../lib/common/util.h"
#include "blkhash-manifest.h"
#include "io/file.h"
#include "job/image-runs.h"
#include "job/job.h"
#include "job/manifest-file.h"
#include "job/manifest-operand.h"
#include "job/overlay-runs.h"
#include "job/plan.h"
#include "source/source.h"
#include "util/error.h"
#include "util/ranges.h"

#define PART_SIZE ((uint64_t) 4 << 30) /* bytes, if N is not given */
#define MAX_PARTS 4096          /* parts, if N is not given */

struct parts {
  const struct parts_request *request;
  const struct hash_request *hash;
  const char **operand;
  struct error *error;

  struct source *source;
  struct plan plan;
  struct ranges none;           /* no ranges */
  struct audit_sample sample;   /* of the whole image */
  const struct progress *progress;
};

/* A part that is hashed or audited. */
struct one_part {
  const struct parts *parts;
  char *path;                   /* of its manifest */
  uint64_t first, count;        /* blocks */
  struct selection selection;   /* the bytes to read */
  struct error unwritten;       /* why "failed" could not be written */
};

/* ---- The image ---- */

static bool
detects_changes (const struct source *source)
{
  const struct files *files = source->files;
  const struct file *file;

  if (!files || files->remote || files->force_share)
    return false;
  for (file = files->first; file; file = file->next)
    if (file_is_block_device (file))
      return false;
  return true;
}

static int
open_image (struct parts *parts)
{
  if (source_open (&parts->hash->source, parts->hash->operand, &parts->source,
                   parts->error) == -1)
    return -1;
  if (parts->source->sequential)
    return error_set (parts->error, "a pipe can only be read as a whole, not "
                      "in parts");
  if (!parts->request->state && !detects_changes (parts->source))
    return error_set (parts->error, "changes of a device, on a server, or with "
                      "-U are not detected; give the name of the snapshot as "
                      "--state NAME");
  return 0;
}

static void
close_image (struct parts *parts)
{
  if (parts->source)
    source_close (parts->source);
  parts->source = NULL;
}

/* Wait until the times of the files show each later change, and open the image
 * again.
 */
static int
settle (struct parts *parts)
{
  int tries;

  for (tries = 0; tries < 3; tries++) {
    long long wait = plan_wait (parts->source);

    if (wait == 0)
      return 0;
    if (wait == -1)
      return error_set (parts->error, "has a time in the future, so changes "
                        "are not detected; use --state NAME");
    close_image (parts);
    clock_sleep (wait);
    if (open_image (parts) == -1)
      return -1;
  }
  return error_set (parts->error, "changes all the time");
}

/* Sync the data and the times of the image before any part exists.  Otherwise a
 * crash could undo data that was hashed, and this would not be detected.
 */
static int
sync_image (struct parts *parts)
{
  const struct files *files = parts->source->files;
  const struct file *file;

  for (file = files ? files->first : NULL; file; file = file->next)
    if (fsync (file->fd) == -1 && errno != EINVAL && errno != EROFS)
      return error_errno (parts->error, errno, "cannot sync the image");
  return 0;
}

/* Check that the files still have the ctime of the plan.  A source checks their
 * size and mtime only, which a program can have set back.
 */
static int
check_ctime (const struct parts *parts)
{
  const struct files *files = parts->source->files;
  const struct file *file = files ? files->first : NULL;
  struct stat now;

  for (; file && !parts->request->state; file = file->next) {
    if (fstat (file->fd, &now) == -1)
      return error_errno (parts->error, errno, "cannot read");
    if (!same_ctime (&now, &file->st))
      return error_set (parts->error, "changed while it was read");
  }
  return 0;
}

/* ---- The plan ---- */

/* A directory of something else is not used.  If it has files, another process
 * may have written its plan since this one found none.
 */
static int
check_empty (const char *dir, struct error *error)
{
  char other[NAME_MAX + 1] = "";
  DIR *d = opendir (dir);
  struct dirent *entry;
  enum answer found;
  struct plan plan;
  int err;

  if (!d)
    return error_errno (error, errno, "cannot read");
  errno = 0;
  while ((entry = readdir (d)))
    if (entry->d_name[0] != '.')
      snprintf (other, sizeof other, "%s", entry->d_name);
  err = errno;
  closedir (d);
  if (err)
    return error_errno (error, err, "cannot read");
  if (!*other)
    return 0;
  found = plan_read (&plan, dir, error);
  if (found == ANSWER_NO)
    return error_set (error, "has no plan, but other files, such as %s; use an "
                      "empty directory", other);
  if (found == ANSWER_YES)
    plan_destroy (&plan);
  return found == ANSWER_YES ? 0 : -1;
}

static uint32_t
default_number (uint64_t size)
{
  uint64_t n = DIV_ROUND_UP (size, PART_SIZE);

  return MAX (1, MIN (n, MAX_PARTS));
}

/* Store in *TEXT the text of the plan by which this process hashes. */
static int
format_plan (struct parts *parts, const struct blkhash_opts *opts, uint32_t n,
             char **text)
{
  const struct parts_request *request = parts->request;

  return plan_format (opts, request->part.n ? request->part.n : n,
                      parts->source, request->state, text, parts->error);
}

/* Write the plan, and read it.  Returns 0, or -1 with the reason. */
static int
write_plan (struct parts *parts)
{
  const char *dir = parts->request->dir;
  char *text;
  int r;

  *parts->operand = dir;
  if (check_empty (dir, parts->error) == -1)
    return -1;
  *parts->operand = parts->hash->operand;
  if ((!parts->request->state && settle (parts) == -1) ||
      sync_image (parts) == -1 ||
      format_plan (parts, parts->hash->opts,
                   default_number (parts->source->size), &text) == -1)
    return -1;
  *parts->operand = dir;
  r = plan_write (dir, text, parts->error);
  free (text);
  if (r == -1)
    return -1;
  switch (plan_read (&parts->plan, dir, parts->error)) {
  case ANSWER_YES: return 0;
  case ANSWER_NO: return error_set (parts->error, "the plan was removed");
  case ANSWER_FAILED: break;
  }
  return -1;
}

static int
check_plan (struct parts *parts)
{
  struct blkhash_opts *opts = job_manifest_fixed_params (parts->hash,
                                                         parts->plan.opts);
  char *text;
  int r;

  *parts->operand = parts->hash->operand;
  if (!opts)
    return error_errno (parts->error, errno, "cannot hash");
  r = format_plan (parts, opts, parts->plan.parts, &text);
  blkhash_opts_free (opts);
  if (r == -1)
    return -1;
  r = plan_check (&parts->plan, parts->request->dir, text, parts->error);
  free (text);
  return r;
}

/* Read the plan, which is written first if there is none, and check that this
 * process has the same.
 */
static int
open_plan (struct parts *parts)
{
  enum answer found;

  *parts->operand = parts->request->dir;
  found = plan_read (&parts->plan, parts->request->dir, parts->error);
  if (found == ANSWER_FAILED ||
      (found == ANSWER_NO && write_plan (parts) == -1))
    return -1;
  blkhash_opts_set_threads (parts->plan.opts,
                            blkhash_opts_get_threads (parts->hash->opts));
  return check_plan (parts);
}

/* ---- A part that exists ---- */

/* Returns true if R reads the complete manifest of this part.  The manifest is
 * read to its end.
 */
static bool
is_this_part (const struct one_part *part, struct blkhash_manifest_reader *r)
{
  struct blkhash_manifest_run run;
  uint64_t first, count;
  int err;

  blkhash_manifest_reader_blocks (r, &first, &count);
  if (first != part->first || count != part->count ||
      !plan_has (&part->parts->plan, r))
    return false;
  do
    err = blkhash_manifest_reader_next (r, &run);
  while (err == 0);
  return err == ENOENT;
}

static bool
is_link (const char *path)
{
  struct stat st;

  return lstat (path, &st) == 0 && S_ISLNK (st.st_mode);
}

/* Returns the descriptor of the complete manifest, at its start; -1 if it must
 * be written; or -2 with the reason if the file must not be replaced.
 */
static int
open_existing (const struct one_part *part, struct error *error)
{
  int fd = open (part->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY |
                                O_NOFOLLOW);
  struct blkhash_manifest_reader *r;
  bool found;

  if (fd == -1) {
    if (errno == ENOENT)
      return -1;
    if (errno == ELOOP && is_link (part->path))
      error_set (error, "%s is a symbolic link: a manifest cannot replace it",
                 part->path);
    else
      error_errno (error, errno, "cannot open %s", part->path);
    return -2;
  }
  if (overwrite_check (fd, part->path, OVERWRITE_CHECK_START,
                       part->parts->source, error) == -1) {
    close (fd);
    return -2;
  }
  r = blkhash_manifest_reader_new (fd, 0, NULL, 0);
  found = r && is_this_part (part, r) && lseek (fd, 0, SEEK_SET) == 0;
  blkhash_manifest_reader_free (r);
  if (found)
    return fd;
  close (fd);
  return -1;
}

/* ---- The audit ---- */

/* An iterator of the leaves of an image in the blocks of a part. */
struct limited_runs {
  struct leaf_runs runs;
  struct leaf_runs *image;      /* read to its end, where it is checked whether
                                 * the image has changed */
  uint64_t first, end;
};

static int
next_limited (struct leaf_runs *runs, struct blkhash_manifest_run *run)
{
  struct limited_runs *limited = (struct limited_runs *) runs;

  do {
    int err = limited->image->next (limited->image, run);

    if (err)
      return err;
    if (run->first < limited->first)
      leaf_run_skip (run, MIN (run->count, limited->first - run->first));
    run->count = MIN (run->count, limited->end -
                      MIN (run->first, limited->end));
  } while (run->count == 0);
  return 0;
}

/* Report a range that differs.  This is recorded before it is reported for the
 * first time.
 */
static void
report_range (void *opaque, uint64_t start, uint64_t length)
{
  struct one_part *part = opaque;
  const struct parts *parts = part->parts;
  struct error line = { "" };

  error_set (&line, "%" PRIu64 " bytes at %" PRIu64 " differ from %s", length,
             start, part->path);
  plan_set_failed (parts->request->dir, line.text, &part->unwritten);
  parts->hash->source.warn (parts->hash->operand, &line);
}

/* Compare AUDITED, the sample of the blocks of PART, with its manifest, which
 * READER reads.  If a range differs, the error is not set.
 */
static enum job_status
compare_sample (struct one_part *part, const struct selection *audited,
                struct blkhash_manifest_reader *reader)
{
  const struct parts *parts = part->parts;
  const struct scan_request request = {
    .opts = parts->plan.opts, .selection = audited
  };
  struct blkhash_manifest_run run;
  struct manifest_runs base;
  struct image_runs image;
  struct limited_runs limited = {
    .runs.next = next_limited, .image = &image.runs,
    .first = part->first, .end = part->first + part->count
  };
  struct overlay_runs overlay = {
    .base = &base.runs,
    .image = &limited.runs,
    .sample = &parts->sample,
    .base_name = part->path,
    .size = parts->plan.size,
    .block_size = blkhash_opts_get_block_size (parts->plan.opts),
    .error = parts->error,
    .report = report_range,
    .opaque = part,
  };
  int err;

  if (image_runs_open (&image, parts->source, &request, NULL,
                       parts->error) == -1)
    return JOB_FAILED;
  manifest_runs_init (&base, reader, part->path, parts->plan.size, NULL,
                      parts->error);
  overlay_runs_init (&overlay);
  do
    err = overlay.runs.next (&overlay.runs, &run);
  while (err == 0);
  image_runs_close (&image);
  return err != ENOENT ? JOB_FAILED : overlay.differs ? JOB_DIFFERS : JOB_DONE;
}

/* Audit PART, whose complete manifest is open as FD. */
static enum job_status
audit (struct one_part *part, int fd)
{
  const struct parts *parts = part->parts;
  struct blkhash_manifest_reader *reader;
  struct selection audited = part->selection;
  uint64_t offset = audited.start, len;
  enum job_status r;

  audited.sample = &parts->sample;
  while (offset < audited.end && !selection_has (&audited, offset, &len))
    offset += len;
  if (offset >= audited.end)
    return JOB_DONE;            /* there is nothing to read */
  reader = blkhash_manifest_reader_new (fd, 0, NULL, 0);
  if (!reader)
    return error_errno (parts->error, errno, "cannot read %s", part->path);
  r = compare_sample (part, &audited, reader);
  blkhash_manifest_reader_free (reader);
  if (r == JOB_DIFFERS)
    error_set (parts->error, "the parts are not of this state of the image; "
               "use a new directory%s%s",
               error_is_set (&part->unwritten) ? ", and remove this one: " : "",
               part->unwritten.text);
  return r;
}

/* ---- A part that is missing ---- */

static int
make_part (struct one_part *part)
{
  const struct parts *parts = part->parts;
  const struct scan_request request = {
    .opts = parts->plan.opts,
    .progress = parts->progress,
    .selection = &part->selection,
  };
  struct manifest_file manifest;
  struct sum sum;
  int r;

  if (manifest_file_open_part (&manifest, part->path, parts->plan.opts,
                               parts->plan.size, part->first, part->count,
                               parts->plan.id, parts->source,
                               parts->error) == -1)
    return -1;
  r = manifest_file_hash (&manifest, parts->source, &request, &sum,
                          parts->error);
  if (r == 0)
    r = check_ctime (parts);
  if (r == 0)
    r = manifest_file_publish (&manifest, parts->error);
  manifest_file_close (&manifest);
  return r;
}

/* ---- All parts ---- */

/* Returns part I, without a path. */
static struct one_part
part_of (const struct parts *parts, uint32_t i)
{
  const struct part number = { i, parts->plan.parts };
  uint32_t block_size = blkhash_opts_get_block_size (parts->plan.opts);
  struct one_part part = { .parts = parts };

  part_blocks (&number, parts->plan.size, block_size, &part.first,
               &part.count);
  part.selection = selection_of_blocks (part.first, part.count,
                                        parts->plan.size, block_size);
  return part;
}

static enum job_status
make_or_audit (const struct parts *parts, uint32_t i)
{
  const struct part number = { i, parts->plan.parts };
  struct one_part part = part_of (parts, i);
  enum job_status r = JOB_FAILED;
  int fd;

  part.path = part_path (&number, parts->request->dir);
  if (!part.path)
    return error_errno (parts->error, ENOMEM, "cannot hash");
  fd = open_existing (&part, parts->error);
  if (fd == -1)
    r = make_part (&part);
  else if (fd >= 0) {
    r = audit (&part, fd);
    close (fd);
    progress_add (parts->progress, part.selection.end - part.selection.start);
  }
  free (part.path);
  return r;
}

static enum job_status
make_parts (struct parts *parts)
{
  const struct part *part = &parts->request->part;
  struct selection all = { .end = parts->plan.size };
  uint32_t i = 0, end = parts->plan.parts;
  uint64_t seed;
  enum job_status r = JOB_DONE;

  if (part->n > 0) {
    i = part->i;
    end = i + 1;
    all = part_of (parts, i).selection;
  }

  if (getentropy (&seed, sizeof seed) == -1 ||
      (errno = audit_sample_init (
         &parts->sample, parts->plan.size,
         blkhash_opts_get_block_size (parts->plan.opts), &parts->none,
         parts->request->audit, seed)))
    return error_errno (parts->error, errno, "cannot hash");
  parts->progress = progress_begin (&parts->hash->progress,
                                    all.end - all.start);
  for (; i < end && r == JOB_DONE; i++)
    r = make_or_audit (parts, i);
  if (r == JOB_DONE)
    r = check_ctime (parts);    /* after the last audit */
  progress_end (parts->progress, r == JOB_DONE);
  audit_sample_destroy (&parts->sample);
  return r;
}

/* Merge the parts.  SUM gets the format of the image. */
static enum job_status
merge (struct parts *parts, struct sum *sum)
{
  char *dir = (char *) parts->request->dir;
  struct merge_request request = {
    .hash = *parts->hash, .paths = &dir, .count = 1, .plan = parts->plan.id
  };
  enum job_status r;

  request.hash.progress.aside = true;
  r = job_merge (&request, sum, parts->operand, parts->error);
  if (r == JOB_DONE) {
    memcpy (sum->format, parts->source->format, sizeof sum->format);
    sum->first = parts->source->first;
  }
  return r;
}

/* ---- The job ---- */

static int
check_request (const struct parts_request *request, struct error *error)
{
  const char *operand = request->hash.operand;

  if (job_manifest_path (operand))
    return error_set (error, "parts are of an image, and this is a manifest");
  if (job_manifest_is_stdin (operand))
    return error_set (error, "standard input may be something else in the next "
                      "run; give the name of the image");
  if (request->state && (!*request->state || strchr (request->state, '\n')))
    return error_set (error, "the NAME of --state must be a line of text");
  return 0;
}

/* A directory that is not mounted is not created. */
static enum job_status
check_directory (const char *dir, struct error *error)
{
  struct stat st;

  if (stat (dir, &st) == -1)
    return error_errno (error, errno, "cannot open");
  return S_ISDIR (st.st_mode) ? plan_check_failed (dir, error)
    : error_set (error, "is not a directory");
}

static enum job_status
run (struct parts *parts, struct sum *sum)
{
  const struct parts_request *request = parts->request;
  const char *manifest = parts->hash->manifest;
  enum job_status r;

  *parts->operand = parts->hash->operand;
  if (check_request (request, parts->error) == -1)
    return JOB_FAILED;
  *parts->operand = request->dir;
  r = check_directory (request->dir, parts->error);
  if (r != JOB_DONE)
    return r;
  *parts->operand = parts->hash->operand;
  if (open_image (parts) == -1 ||
      (manifest && !manifest_file_is_stdout (manifest) &&
       overwrite_check_path (manifest, parts->source, parts->error) == -1) ||
      open_plan (parts) == -1)
    return JOB_FAILED;
  r = make_parts (parts);
  return r == JOB_DONE && request->part.n == 0 ? merge (parts, sum) : r;
}

enum job_status
job_parts (const struct parts_request *request, struct sum *sum,
           const char **operand, struct error *error)
{
  struct parts parts = {
    .request = request, .hash = &request->hash, .operand = operand,
    .error = error
  };
  double start = clock_seconds ();
  enum job_status r = run (&parts, sum);

  close_image (&parts);
  plan_destroy (&parts.plan);
  if (r == JOB_DONE)
    sum->seconds = clock_seconds () - start;
  return r;
}
